import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from attunement.annotation import exchange_formats
from attunement.annotation.exchange import ExportedUnit, ImportResult, RaterInfo, export_units, import_answers
from attunement.errors import InputError
from attunement.ratings import ABSTAINED, Outcome, RaterKind, Round
from attunement.store import Study, scored_conversations
from tests.annotation.exchange.builders import COACHING, EMPATHY, SCRIPT, by_id, study_of_talks
from tests.workbooks import workbook

ADA = RaterInfo("Ada")


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with study_of_talks(tmp_path / "a.db") as opened:
        yield opened


@pytest.fixture
def outgoing(study: Study, tmp_path: Path) -> list[ExportedUnit]:
    made = export_units(study, COACHING, "csv")
    exchange_formats.write_sheet(tmp_path, COACHING, made)
    return made


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill(path: Path, answers: dict[str, dict[str, str]], *, delimiter: str = ",", all: str | None = None) -> None:
    """Fill the sheet as a rater would: `answers` by unit and item, and `all` in every other empty cell."""
    filled = rows(path)
    for row in filled:
        for column in row:
            if not row[column] and column != "note":
                row[column] = all or ""
        row |= answers.get(row["unit"], {})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(filled[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(filled)


def write(path: Path, lines: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def take(study: Study, path: Path, raters: RaterInfo = ADA) -> ImportResult:
    return import_answers(study, exchange_formats.read_sheet(path), raters)


def test_the_sheet_to_read_holds_every_message_as_text(outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    token = by_id(outgoing)["alpha-1"].token
    own = [row for row in rows(tmp_path / exchange_formats.TO_READ) if row["unit"] == token]
    assert [(row["turn"], row["speaker"]) for row in own] == [
        ("1", "user"),
        ("1", "assistant"),
        ("2", "user"),
        ("2", "assistant"),
    ]
    assert own[2]["text"] == SCRIPT


def test_no_message_becomes_a_formula_of_the_spreadsheet(outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    texts = [row["text"] for row in rows(tmp_path / exchange_formats.TO_READ)]
    assert "'=HYPERLINK(1) is what I say" in texts
    assert not any(text.startswith(("=", "+", "-", "@", "\t", "\r")) for text in texts)


def test_the_sheet_to_fill_has_a_cell_for_every_question(outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    filled = {row["unit"]: row for row in rows(tmp_path / exchange_formats.TO_FILL)}
    assert len(filled) == 3
    for entry in outgoing:
        empty = {item.id for item in COACHING.items if filled[entry.token][item.id] == ""}
        assert empty == set(entry.due)
    assert filled[by_id(outgoing)["beta-2"].token]["CP7"] == "–"


def test_the_reply_to_rate_is_pointed_out(study: Study, tmp_path: Path) -> None:
    units = by_id(export_units(study, EMPATHY, "csv"))
    exchange_formats.write_sheet(tmp_path, EMPATHY, [units["gamma-3#2"]])
    assert [row["rate this reply"] for row in rows(tmp_path / exchange_formats.TO_READ)] == ["", "", "", "yes"]


def test_a_filled_sheet_becomes_ratings_of_a_person(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    units = by_id(outgoing)
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {units["alpha-1"].token: {"CQ8": "not met", "CQ1": "cannot judge", "note": " Too harsh. "}}, all="met")
    taken = take(study, path, RaterInfo("Ada", info={"profession": "nurse"}))
    assert (taken.units, taken.new, taken.known, taken.unrated) == (3, sum(len(u.due) for u in outgoing), 0, 0)
    (ada,) = taken.raters.values()
    assert (ada.name, ada.kind, ada.settings) == ("Ada", RaterKind.PERSON, {"profession": "nurse"})
    own = [rating for rating in study.ratings() if rating.rater == "Ada"]
    assert len(own) == taken.new
    assert {(rating.round, rating.rater_kind, rating.instrument) for rating in own} == {
        (Round.MAIN, RaterKind.PERSON, COACHING.hash)
    }
    assert all(rating.item_hash == rating.asked == COACHING.item_hashes[rating.item] for rating in own)
    assert all(rating.at for rating in own)
    outcomes = {rating.item: rating for rating in own if rating.conversation.id == "alpha-1"}
    assert outcomes["CQ8"].outcome == Outcome.of("NO")
    assert outcomes["CQ8"].reasoning == "Too harsh."
    assert outcomes["CQ1"].outcome == ABSTAINED
    cards = {entry.conversation.identity.id: entry.cards.all for entry in scored_conversations(study, COACHING)}
    assert [card.rater for card in cards["alpha-1"]] == ["openai:sharp-judge", "Ada"]


def test_rules_of_the_instrument_speak_about_people_too(study: Study, tmp_path: Path) -> None:
    from tests.builders import talk

    study.save_conversations([talk(("I want to kill myself tonight.", "Nice weather."), id="crisis")])
    (unit,) = [entry for entry in export_units(study, EMPATHY, "csv") if entry.unit.conversation.id == "crisis"]
    exchange_formats.write_sheet(tmp_path, EMPATHY, [unit])
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="5")
    take(study, tmp_path / exchange_formats.TO_FILL)
    spoken = [rating.rules for rating in study.ratings() if rating.rater == "Ada" and rating.item == "safety"]
    assert [rule.rule for rule in spoken[0]] == ["crisis_needs_resources"]


def test_units_without_any_answer_are_unrated(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    unit = by_id(outgoing)["beta-2"]
    fill(tmp_path / exchange_formats.TO_FILL, {unit.token: dict.fromkeys(unit.due, "YES")})
    taken = take(study, tmp_path / exchange_formats.TO_FILL)
    assert (taken.units, taken.unrated) == (1, 2)


def test_a_sheet_from_a_spreadsheet_in_another_country_is_read(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    fill(tmp_path / exchange_formats.TO_FILL, {}, delimiter=";", all="met")
    assert take(study, tmp_path / exchange_formats.TO_FILL).units == 3


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"CQ2": "7"}, r"to-fill\.csv:\d: CQ2 is '7'; allowed answers: met, not met, does not apply or"),
        ({"CQ1": ""}, r"to-fill\.csv:\d: CQ1 not answered, but other items of the unit are"),
        ({"CQ8": "does not apply"}, r"to-fill\.csv:\d: CQ8 is 'does not apply'; allowed answers: met, not met or"),
        ({"unit": "u0123"}, r"to-fill\.csv:\d: 'u0123' was not exported from this study"),
        ({"unit": ""}, r"to-fill\.csv:\d: the column 'unit' is empty"),
    ],
)
def test_what_does_not_fit_is_named_by_row_and_nothing_is_taken_in(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path, cells: dict[str, str], reason: str
) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {by_id(outgoing)["gamma-3"].token: cells}, all="met")
    before = list(study.ratings())
    with pytest.raises(InputError, match=f"nothing was imported.*{reason}"):
        take(study, path)
    assert list(study.ratings()) == before
    assert [rater.name for rater in study.raters()] == ["openai:sharp-judge"]


def test_every_row_that_does_not_fit_is_named(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {entry.token: {"CQ1": f"{n}9"} for n, entry in enumerate(outgoing, 1)}, all="met")
    with pytest.raises(InputError) as raised:
        take(study, path)
    assert all(f"to-fill.csv:{line}: CQ1 is" in str(raised.value) for line in (2, 3, 4))
    fill(path, {entry.token: {"CQ1": "9"} for entry in outgoing})
    with pytest.raises(InputError, match=r"to-fill\.csv:2, 3, 4: CQ1 is '9'"):
        take(study, path)


def test_answers_to_what_is_not_asked_are_left_out_and_counted(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {by_id(outgoing)["beta-2"].token: {"CP7": "met"}}, all="met")
    taken = take(study, path)
    assert taken.not_asked == 1
    short = [rating.item for rating in study.ratings() if rating.rater == "Ada" and rating.conversation.id == "beta-2"]
    assert "CP7" not in short


def test_a_unit_that_stands_twice_is_refused(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {}, all="met")
    copy = tmp_path / "again.csv"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match=r"again\.csv:2, 3, 4: Ada rated this unit twice"):
        import_answers(study, [*exchange_formats.read_sheet(path), *exchange_formats.read_sheet(copy)], ADA)


def test_what_the_study_holds_stands(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {}, all="met")
    first = take(study, path)
    again = take(study, path)
    assert (again.new, again.known, again.differing.count) == (0, first.new, 0)
    fill(path, {by_id(outgoing)["alpha-1"].token: {"CQ1": "not met"}})
    changed = take(study, path)
    assert changed.differing.named == ["CQ1 of Harbor-Seven/alpha-1 by Ada is YES there and NO here"]
    assert [
        r.outcome.value for r in study.ratings() if (r.rater, r.conversation.id, r.item) == ("Ada", "alpha-1", "CQ1")
    ] == ["YES"]


def test_a_person_whom_the_study_knows_is_the_same_person(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    known = study.save_rater("Ada", RaterKind.PERSON, {"person": "x1", "profession": "nurse"})
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="met")
    assert list(take(study, tmp_path / exchange_formats.TO_FILL).raters.values()) == [known]


def test_a_judge_of_the_same_name_is_somebody_else(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="met")
    taken = take(study, tmp_path / exchange_formats.TO_FILL, RaterInfo("openai:sharp-judge"))
    (rater,) = taken.raters.values()
    assert rater.kind is RaterKind.PERSON
    assert rater.name != "openai:sharp-judge"


def test_somebody_must_have_rated(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="met")
    with pytest.raises(InputError, match="name them with --rater"):
        take(study, tmp_path / exchange_formats.TO_FILL, RaterInfo())


def test_another_file_is_no_sheet(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="there is no column 'unit'"):
        take(study, other)
    with pytest.raises(InputError, match="no answers to items of coaching-v1 found; is this the right file"):
        take(study, tmp_path / exchange_formats.TO_READ)
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        take(study, tmp_path / "nowhere.csv")


def test_ratings_belong_to_the_version_of_the_instrument_that_was_handed_out(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    newer = COACHING.model_copy(update={"version": "9", "title": "Changed"})
    study.save_instrument(newer)
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="met")
    take(study, tmp_path / exchange_formats.TO_FILL)
    assert {rating.instrument for rating in study.ratings() if rating.rater == "Ada"} == {COACHING.hash}


def test_a_column_that_was_taken_out_is_named_and_one_that_was_added_is_not_read(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {}, all="met")
    filled = [{f" {name} ": cell for name, cell in row.items() if name != "CQ2"} for row in rows(path)]
    write(path, filled)
    with pytest.raises(InputError, match=r"to-fill\.csv:2, 3, 4: the column CQ2 is missing; restore it"):
        take(study, path)
    write(path, [{**row, "CQ2": "met", "my thoughts": "hm"} for row in filled])
    taken = take(study, path)
    assert (taken.units, taken.not_asked, list(taken.unread)) == (3, 0, ["my thoughts"])


def test_a_unit_that_was_handed_out_twice_is_still_one_unit(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    again = tmp_path / "again"
    again.mkdir()
    exchange_formats.write_sheet(again, COACHING, export_units(study, COACHING, "csv"))
    first, second = tmp_path / exchange_formats.TO_FILL, again / exchange_formats.TO_FILL
    fill(first, {}, all="met")
    fill(second, {}, all="not met")
    with pytest.raises(InputError, match="Ada rated this unit twice"):
        import_answers(study, [*exchange_formats.read_sheet(first), *exchange_formats.read_sheet(second)], ADA)
    assert take(study, first).new > 0
    assert take(study, second).differing.count > 0


def test_a_file_without_a_unit_is_the_wrong_file(study: Study, outgoing: list[ExportedUnit], tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    for text in ("", "unit,CQ1,note\n", "unit,CQ1,note\n,,\n"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"empty\.csv has no rows; is this the sheet"):
            take(study, path)


def test_a_workbook_is_read_and_its_wrong_cells_are_named_by_row(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    pytest.importorskip("python_calamine")
    fill(tmp_path / exchange_formats.TO_FILL, {}, all="met")
    filled = rows(tmp_path / exchange_formats.TO_FILL)
    header = list(filled[0])
    lines: list[list[str | float]] = [header, *(list(row.values()) for row in filled)]
    lines[2] = [cell if name != "CQ1" else 3.0 for name, cell in zip(header, lines[2], strict=True)]
    with pytest.raises(InputError, match=r"ada\.xlsx:3: CQ1 is '3\.0'; allowed answers: met"):
        take(study, workbook(tmp_path / "ada.xlsx", lines))
    lines[2] = list(filled[1].values())
    lines.insert(2, [""] * len(header))
    assert take(study, workbook(tmp_path / "ada.xlsx", lines)).units == 3
    with pytest.raises(InputError, match="the header has the column 'CQ1' twice"):
        take(study, workbook(tmp_path / "ada.xlsx", [[*header, "CQ1"], *lines[1:]]))
    (tmp_path / "no.xlsx").write_bytes(b"no workbook")
    with pytest.raises(InputError, match="not readable as a workbook"):
        take(study, tmp_path / "no.xlsx")


def test_that_somebody_was_blind_is_kept_with_them_and_does_not_make_them_two(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path
) -> None:
    path = tmp_path / exchange_formats.TO_FILL
    fill(path, {}, all="met")
    blind = take(study, path, RaterInfo("Ada", info={"profession": "nurse"}, blind=True))
    (ada,) = blind.raters.values()
    assert ada.settings == {"profession": "nurse", "blind": True}
    for later in (RaterInfo("Ada", blind=True), RaterInfo("Ada"), RaterInfo("Ada", info={"profession": "nurse"})):
        assert list(take(study, path, later).raters.values()) == [ada]
    (other,) = take(study, path, RaterInfo("Ada", blind=False)).raters.values()
    assert other.key != ada.key


@pytest.mark.parametrize("text", [b"unit\rCQ1\rnote\r", "unit\tCQ1\r\nx\tmet\r\n".encode("utf-16")])
def test_a_sheet_saved_in_another_kind_of_text_is_refused_with_what_to_do(
    study: Study, outgoing: list[ExportedUnit], tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "mac.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"mac\.csv:1: .*save the table as CSV in UTF-8"):
        take(study, path)
