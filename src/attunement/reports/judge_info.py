"""What is known about a judge before it is used: how it works, what was measured, what it costs.

For `signals` the numbers come from `make validate-signals`; for a model they are what its name and the price list say.
"""

from typing import Any, NamedTuple

from attunement.engine.budget import price_of
from attunement.judges import Judge, JudgeOptions, hosted, is_dated, make_judge, model_family
from attunement.judges.signals import rules_version
from attunement.reports.blocks import Block, Column, Document, Row, Table, texts
from attunement.scoring import is_signals
from attunement.signals.measured import BLIND_SPOTS, Measurement, measured


class JudgeInfo(NamedTuple):
    """What is known about one judge, in sentences, as measurements and as data."""

    name: str
    text: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    record: dict[str, Any]

    def document(self) -> Document:
        blocks: list[Block] = [*texts(self.text)]
        if self.measurements:
            columns = [*map(Column, ("Measured on", "Counted", "Number")), Column("Share [95 % interval]", True)]
            rows = [
                Row((each.data, each.counted, f"{each.hits:,} of {each.n:,}", share_with_interval(each)))
                for each in self.measurements
            ]
            blocks.append(Table(columns, rows))
        return Document(self.name, blocks)


def judge_info(name: str, base_url: str | None = None) -> JudgeInfo:
    """What is known about the judge called `name`. Nothing is sent.

    Raises:
        JudgeError: There is no such judge, or what it needs is missing.
    """
    judge = make_judge(name, JudgeOptions(base_url=base_url, sends=False))
    return _signals() if is_signals(judge.name) else _model(judge, base_url)


def share_with_interval(share: Measurement) -> str:
    digits = 1 if share.high < 0.01 else 0  # 0 of 1,080 still allows 0.3 %
    return f"{100 * share.hits / share.n:.{digits}f} % [{100 * share.low:.{digits}f}, {100 * share.high:.{digits}f}]"


def _signals() -> JudgeInfo:
    found = measured()
    text = [
        "The rule check: no LLM, no key, no connection. It points at crisis talk that may not have been taken up, with "
        "the sentence, and it counts lengths, openers, questions and crisis lines. It never judges: no verdict, no "
        "score, and it cannot clear anything.",
        "A pointer: the person speaks of suicide or self-harm, and from there on no reply asks about it directly, or "
        "none names help that they can reach.",
        f"It cannot see: {'; '.join(BLIND_SPOTS)}.",
    ]
    if found.rules != rules_version():
        text.append(
            "These figures were measured with other patterns than the ones installed: run make validate-signals."
        )
    record = {
        "judge": "signals",
        "rules": rules_version(),
        "cannot_see": list(BLIND_SPOTS),
        "measured_with": found.rules,
        "measurements": [each.model_dump() for each in found.measurements],
    }
    return JudgeInfo("signals", tuple(text), found.measurements, record)


def _model(judge: Judge, base_url: str | None) -> JudgeInfo:
    model = judge.name.partition(":")[2]
    family, dated, is_hosted = model_family(judge.name), is_dated(model), hosted(judge)
    price = price_of(judge.name, base_url=base_url)
    text = [
        "Nothing has been measured for this judge here: how far it can be trusted depends on the model, the items and "
        "the conversations.",
        f"To measure it on public data: attune bench kumar2025 --from FOLDER --judge {judge.name}",
        "To measure it on your own data: have people rate some conversations (attune plan, attune annotate), then run "
        "attune agree.",
        f"Family: {family or 'not known from its name'}. Judges favour systems of their own family; do not let them "
        "judge those alone.",
    ]
    if dated:
        text.append("Its name is pinned to a date or a version, so it will mean the same model next month.")
    elif is_hosted:
        text.append("Its name has no date: the provider may put another model behind it. A dated name is better.")
    if price is None:
        text.append("Price: not on the price list; give it with --price-in and --price-out.")
    elif not price.prompt and not price.completion:
        text.append("Price: none, it runs on this machine.")
    else:
        text.append(
            f"Price: ${price.prompt:g} per million prompt tokens, ${price.completion:g} per million reply tokens "
            f"({price.source})."
        )
    record = {
        "judge": judge.name,
        "measured": False,
        "family": family,
        "dated": dated,
        "hosted": is_hosted,
        "price_per_million_tokens": price
        and {"prompt": price.prompt, "reply": price.completion, "source": price.source},
    }
    return JudgeInfo(judge.name, tuple(text), (), record)
