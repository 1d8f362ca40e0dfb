"""Statistics as pure functions: arrays in, a named result out.

A result holds a number or, as `Undefined`, why there is none. Functions that end in `_statistic` give the form from
which `bootstrap` makes an interval, over units or over whole conversations, also of several combined.
"""
