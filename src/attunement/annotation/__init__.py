"""The work of people: which conversations they are asked to rate, how many it takes, and how ratings come and go."""
