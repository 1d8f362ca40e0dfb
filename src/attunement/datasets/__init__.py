"""Which public data did people rate, what do they hold, and do their published figures come out?

Each set has a reader of its own, which turns a folder of other people's files into conversations, an instrument and
ratings; `save` puts those into a study. The data themselves are no part of this package: `catalogue` says where
they are to be had.
"""
