"""Training of the small scorer that the embedded judge carries; nothing here is needed at run time."""
