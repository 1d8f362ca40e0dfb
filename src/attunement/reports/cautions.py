"""What should a reader of judges' answers know about the judges themselves?

A judge of the same model family as the system it judges favours it; a hosted model without a date in its name may be
another one next month; a judge that does not keep to what it was asked may not keep to the criterion either.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from attunement.judges import is_dated, shared_family
from attunement.judges.families import hosted_at
from attunement.ratings import Mark, RaterKind
from attunement.study import Rater, Study

_MOST_SYSTEMS = 1000
"""Systems that are compared with a judge's name; nobody judges more, and a file without system names may seem to."""


def about_judge(name: str, address: str | None, systems: Iterable[str]) -> Iterator[str]:
    """Sentences about one judge of these systems, by its name and the address of its service."""
    for system in islice(systems, _MOST_SYSTEMS):
        if family := shared_family(name, system):
            yield (
                f"Warning: {name} judges {system}, which is of the same model family ({family}); judges favour their "
                "own kind."
            )
    if hosted_at(address) and not is_dated(name):
        yield (
            f"Notice: {name} is a name without a date; its provider may put another model behind it. Use a dated name "
            "to be able to repeat this."
        )


def about_raters(study: Study, raters: Iterable[Rater], systems: Iterable[str]) -> Iterator[str]:
    """Sentences about the judges of a study."""
    systems = list(systems)
    long = study.marked(Mark.LONG_REASONING)
    for rater in raters:
        if rater.kind is not RaterKind.MODEL:
            continue
        yield from about_judge(rater.name, rater.settings.get("base_url"), systems)
        count, total = long.get(rater.name, (0, 0))
        if count:
            yield f"Notice: {rater.name} wrote longer reasoning than asked for in {count:,} of {total:,} answers."
