"""A study as pages: what needs attention first, every figure with its conversations, every verdict with its words."""
