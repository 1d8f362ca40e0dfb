"""`python -m attunement` is `attune`."""

from attunement.cli import main

main()
