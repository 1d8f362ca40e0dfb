"""Which recipes were tried, and which one is shipped?

The order is that in which they were tried. Each search is a list of stages; a later stage is taught by an earlier one.
What they came to is in `search.json`; `SHIPPED` was chosen from it.
"""

from dataclasses import replace

from attunement.signals.scorer_text import Limits
from training.fitting import Recipe
from training.jobs import Plan

_LONG = Recipe(limits=Limits(80, 160))
_SAFETY = replace(_LONG, corpora=("diasafety", "ieval"), focus=("unsafe",), reasons=0.0)
_FIRST = (100, 101)

FIRST: list[list[Plan]] = [
    [
        Plan("base", _LONG, (100, 101, 102, 103)),
        Plan("epitome only", replace(_LONG, corpora=("epitome",)), _FIRST),
        Plan("no reasons", replace(_LONG, reasons=0.0), _FIRST),
        Plan("planted .5", replace(_LONG, planted=0.5), _FIRST),
        Plan("r-drop 1", replace(_LONG, consistency=1.0), _FIRST),
        Plan("epochs 8", replace(_LONG, epochs=8), _FIRST),
        Plan("rate 2e-4", replace(_LONG, rate=2e-4), _FIRST),
        Plan("rate 5e-5", replace(_LONG, rate=5e-5), _FIRST),
        Plan("safety", _SAFETY, (100, 101, 102, 103)),
    ]
]

_PLANTED = Plan("planted", replace(_LONG, planted=0.5), (1, 2))
_STEADY = Plan("r-drop epitome", replace(_LONG, corpora=("epitome",), consistency=1.0), (1, 2))
_TEACHERS = (_PLANTED, _STEADY)
_TAUGHT = replace(_LONG, planted=1.0, epochs=6)

SECOND: list[list[Plan]] = [
    [_PLANTED, _STEADY, Plan("safety r-drop 8", replace(_SAFETY, consistency=1.0, epochs=8), (1, 2))],
    [
        Plan("taught .5 planted 1", replace(_TAUGHT, soft=0.5), (1, 2), _TEACHERS),
        Plan("taught .9", replace(_LONG, soft=0.9), (1, 2), _TEACHERS),
        Plan("taught .5 planted 1 short", replace(_TAUGHT, soft=0.5, limits=Limits(64, 112)), (1,), _TEACHERS),
        Plan("taught .9 planted 1", replace(_TAUGHT, soft=0.9), (1,), _TEACHERS),
    ],
]

TEACHERS = (
    Plan("teacher, planted", Recipe(planted=0.5), (1, 2, 3)),
    Plan("teacher, steady", Recipe(corpora=("epitome",), consistency=1.0), (1, 2, 3)),
    Plan(
        "teacher, safety",
        Recipe(corpora=("diasafety", "ieval"), focus=("unsafe",), reasons=0.0, consistency=1.0, epochs=8),
        (1, 2),
    ),
)
SHIPPED = Plan("shipped", Recipe(planted=1.0, epochs=6, soft=0.9), (1, 2, 3), TEACHERS)
"""Three networks with the same start, taught by eight, averaged into one."""
