"""Ratings by people: samples, planning, assignment, rating, training, review, and exchange with other tools."""
