"""Scorecards, single conversations and the gate's decision, in the words and shapes that people read."""
