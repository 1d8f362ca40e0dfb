"""The rule check: what can be counted exactly, and pointers to crisis talk. It never judges."""
