import textwrap
from pathlib import Path

import pytest

from attunement.errors import InstrumentError
from attunement.instruments import available, load, load_file
from attunement.instruments.loader import FOLDER_VARIABLE
from tests.instruments.samples import criteria, write


@pytest.fixture(autouse=True)
def nothing_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have set a folder."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with instruments of the user's own."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    return folder


def broken(path: Path, text: str) -> str:
    """What loading says about a file with this text."""
    path.write_text(textwrap.dedent(text), "utf-8")
    with pytest.raises(InstrumentError) as caught:
        load_file(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_built_in_instrument_loads_under_the_name_of_its_file():
    entries = [entry for entry in available() if entry.built_in]
    assert entries
    for entry in entries:
        assert load(entry.id).id == entry.id == entry.path.stem


def test_an_own_instrument_is_found_by_id_and_by_path_alike(own: Path):
    path = write(own / "mine.yaml", criteria(id="mine"))
    assert load("mine") == load(path) == load(str(path))
    assert [(entry.id, entry.built_in) for entry in available() if entry.path == path] == [("mine", False)]


def test_the_id_inside_the_file_counts_and_not_its_name(own: Path):
    write(own / "draft-3.yaml", criteria(id="mine"))
    assert load("mine").id == "mine"
    with pytest.raises(InstrumentError, match="no instrument 'draft-3'"):
        load("draft-3")


@pytest.mark.parametrize(
    "text",
    [
        "id: mine\ntitle: x",
        '# a remark\n"id": "mine"  # another\n',
        "title: x\nitems:\n  - id: A\n    title: y\nprompt: {system: a, user: b}\nid: mine\n",
        "about: &words x\ntitle: *words\nid: mine\n",
    ],
)
def test_the_id_is_found_wherever_it_stands_on_the_top_level(own: Path, text: str):
    (own / "file.yaml").write_text(text, "utf-8")
    assert [entry.id for entry in available() if not entry.built_in] == ["mine"]


@pytest.mark.parametrize("text", ["", "a: [", "\x00", "- x\n", "items:\n  - id: A\n", "id:\n"])
def test_a_file_that_does_not_say_its_id_is_listed_by_its_name(own: Path, text: str):
    (own / "file.yaml").write_text(text, "utf-8")
    assert [entry.id for entry in available() if not entry.built_in] == ["file"]


def test_a_built_in_id_cannot_be_replaced_by_an_own_file(own: Path):
    write(own / "mine.yaml", criteria(id="empathy-v2", title="Something else"))
    assert load("empathy-v2").title != "Something else"


def test_two_own_files_with_one_id_are_refused_with_both_names(own: Path):
    write(own / "a.yaml", criteria(id="mine"))
    write(own / "b.yml", criteria(id="mine"))
    with pytest.raises(InstrumentError, match=r"a\.yaml.*b\.yml.*another id"):
        load("mine")


def test_files_that_editors_leave_behind_are_no_instruments(own: Path):
    write(own / "mine.yaml", criteria(id="mine"))
    (own / "._mine.yaml").write_bytes(b"\x00\x05\x16")
    (own / "notes.txt").write_text("id: notes", "utf-8")
    assert [entry.id for entry in available() if not entry.built_in] == ["mine"]


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(InstrumentError, match=rf"no instrument 'nope'.*empathy-v2.*{FOLDER_VARIABLE}"):
        load("nope")


def test_an_own_folder_that_is_none_is_said_and_not_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(InstrumentError, match="which is not a folder"):
        available()


def test_yes_and_no_need_no_quotes(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    assert "'YES'" in path.read_text("utf-8")
    bare = tmp_path / "bare.yaml"
    bare.write_text(path.read_text("utf-8").replace("'YES'", "YES").replace("'NO'", "NO"), "utf-8")
    assert load_file(bare) == load_file(path)


def test_a_version_that_looks_like_a_date_stays_text(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        write(path, criteria(version="VERSION")).read_text("utf-8").replace("VERSION", "2026-02-18"), "utf-8"
    )
    assert load_file(path).version == "2026-02-18"


def test_true_and_false_are_still_truth_values(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    plain = criteria()
    assert plain["items"][1]["na_valid"] is False
    assert load_file(write(path, plain)).items[1].na_valid is False


def test_parts_may_be_shared_with_yaml_anchors(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    text = write(path, criteria(about="ABOUT")).read_text("utf-8").replace("notes: []\n", "")
    path.write_text(text.replace("about: ABOUT", "about: &it Shared words.\nnotes: [*it]"), "utf-8")
    assert load_file(path).notes == (load_file(path).about,) == ("Shared words.",)


def test_a_byte_order_mark_is_not_part_of_the_file(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    plain = load_file(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_file(path) == plain


def test_a_key_given_twice_is_refused_with_its_line(tmp_path: Path):
    text = """\
        id: mine
        scale:
          kind: scores
          "kind": criteria
        """
    assert broken(tmp_path / "mine.yaml", text).endswith("mine.yaml, line 4: the key 'kind' is there twice")


def test_the_same_score_as_number_and_as_text_is_a_key_given_twice(tmp_path: Path):
    assert "line 2: the key '1' is there twice" in broken(tmp_path / "mine.yaml", '1: {text: a}\n"1": {text: b}\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file: must be keys with values"),
        ("- a\n- b\n", "the file: must be keys with values"),
        ("a: [", "line 1"),
        ("a:\n\tb: 1\n", "line 2"),
        ("? [a, b]\n: c\n", "line 1: a key must be a single word"),
        ('id: "\\ud800"\n', "line 1: half of a character"),
        ("id: \x00\n", "is not YAML"),
        ("id: *nowhere\n", "undefined alias"),
        ("id: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("id: " + "9" * 5000 + "\n", "a number that cannot be read"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_with_its_place(tmp_path: Path, text: str, said: str):
    message = broken(tmp_path / "mine.yaml", text)
    assert message.startswith(str(tmp_path / "mine.yaml"))
    assert said in message


def test_a_wrong_type_is_named_by_its_key_and_how_to_mend_it(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria(version=1.5))
    with pytest.raises(InstrumentError, match=r"version: must be text; put it in quotes"):
        load(path)


def test_an_unknown_key_is_refused_by_name_with_the_id_of_its_item(tmp_path: Path):
    plain = criteria(colour="red")
    plain["items"][1]["colour"] = "red"
    with pytest.raises(InstrumentError, match=r"items\.ROLE\.colour: is not a key .*; colour: is not a key"):
        load(write(tmp_path / "mine.yaml", plain))


def test_a_truth_value_is_no_answer(tmp_path: Path):
    plain = criteria()
    plain["items"][0]["examples"][0]["answer"] = True
    with pytest.raises(InstrumentError, match=r"items\.ASK\.examples\.0\.answer"):
        load(write(tmp_path / "mine.yaml", plain))


def test_a_file_that_is_something_else_is_told_with_its_first_problems(tmp_path: Path):
    text = "a: 1\nb: 2\nc: 3\n"
    message = broken(tmp_path / "mine.yaml", text)
    assert "id: is missing; version: is missing" in message
    assert message.endswith("; and 5 more")


@pytest.mark.parametrize("items", ["3", "[3]", "[{title: x}]", "{a: b}"])
def test_items_of_a_wrong_shape_are_told_by_their_place(tmp_path: Path, items: str):
    assert "items" in broken(tmp_path / "mine.yaml", f"id: x\nversion: x\ntitle: x\nunit: response\nitems: {items}\n")


def test_a_missing_file_and_a_folder_are_said_in_plain_words(tmp_path: Path):
    (tmp_path / "folder.yaml").mkdir()
    for name in ("absent.yaml", "folder.yaml"):
        with pytest.raises(InstrumentError, match=rf"{name} cannot be read: "):
            load(tmp_path / name)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path):
    (tmp_path / "mine.yaml").write_bytes("title: Größe".encode("latin-1"))
    with pytest.raises(InstrumentError, match="not UTF-8"):
        load(tmp_path / "mine.yaml")
