"""How many replies does the trained scorer read a second on one core, and how much memory does that take?

The aims: 20 replies a second and core, under 400 MB. Times are processor time of one process with one thread, so that
other work on the machine does not count. Three lengths: short exchanges as in EPITOME, replies of a support bot, and
texts so long that both limits are reached.

    python benchmarks/bench_scorer.py [REPLIES]
"""

import random
import resource
import sys
import time

from attunement.signals import scorer

LENGTHS = {
    "short (40 + 35 words)": (40, 35),
    "of a bot (150 + 80 words)": (150, 80),
    "long (1000 + 1000 words)": (1000, 1000),
}
VOCABULARY = """
    I you we it that this feel felt sounds like really hard lately work home sleep tired worried about what when because
    maybe could would talk listen here with my your mother friend week night again nothing everything okay and but so
    very much right now today tomorrow help try small step breath
"""


def pairs(count: int, context: int, reply: int) -> list[tuple[str, str]]:
    chance, words = random.Random(7), VOCABULARY.split()
    return [
        (" ".join(chance.choices(words, k=context)), " ".join(chance.choices(words, k=reply))) for _ in range(count)
    ]


def main(count: int) -> None:
    if not scorer.available():
        sys.exit(f"{scorer.EPITOME.name} was left out of this installation")
    scorer.read(pairs(1, 10, 10))
    for name, lengths in LENGTHS.items():
        texts = pairs(count, *lengths)
        started = time.process_time()
        scorer.read(texts)
        print(f"{name:28} {count / (time.process_time() - started):6.1f} replies a second and core (aim 20)")
    scorer.read([("a word " * 150_000, "and another one " * 70_000)] * 4)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (aim below 400)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
