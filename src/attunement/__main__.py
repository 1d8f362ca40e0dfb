"""`python -m attunement` is `attune`."""

from attunement.cli import main

if __name__ == "__main__":
    main()
