"""Statistics as pure functions: arrays in, a named result or `Undefined` out.

Functions that end in `_statistic` return the form from which `bootstrap.clustered_interval` makes an interval.
"""
