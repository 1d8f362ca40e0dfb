import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attunement.engine.writer import Writer
from attunement.ratings import RaterKind
from attunement.study import KeptRating, Study
from tests.builders import rating, talk
from tests.study.samples import COACHING


def test_an_answer_whose_ratings_cannot_be_made_holds_up_no_other(tmp_path: Path) -> None:
    """Both are handed in together, so they come into the same batch; only the worker of the bad one is told."""
    conversation = talk(("I feel low.", "Tell me more."))
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        study.keep_instrument(COACHING)
        rater = study.keep_rater("j", RaterKind.MODEL, {})
        (key,) = study.keep_conversations([conversation])
        made = rating(COACHING, "CQ1", "YES", conversation=conversation.identity, rater="j")

        def unreadable() -> list[KeptRating]:
            raise ValueError("no sense in it")

        async def keep() -> None:
            writer = Writer(study, database, on_failure=pytest.fail)
            writing = asyncio.create_task(writer.work())
            good = asyncio.create_task(writer.keep([], [lambda: [KeptRating(key, rater.key, made)]]))
            bad = asyncio.create_task(writer.keep([], [unreadable]))
            assert await good == [[KeptRating(key, rater.key, made)]]
            with pytest.raises(ValueError, match="no sense"):
                await bad
            writer.close()
            await writing

        asyncio.run(keep())
        assert [kept.item for kept in study.ratings()] == ["CQ1"]
