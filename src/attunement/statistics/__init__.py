"""Statistics as pure functions: arrays in, a named result or `Undefined` out.

Functions that end in `_statistic` return the form from which `intervals.agreement_interval` makes an interval.
"""
