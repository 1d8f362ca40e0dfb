import base64
import json
import re
import zlib
from contextlib import closing

import pytest

from attunement.conversations.redaction import Redactor
from attunement.errors import AttunementError
from attunement.reports.html import writing
from attunement.reports.html.listing import Listing
from attunement.reports.html.writing import Form
from attunement.reports.privacy import Privacy
from attunement.reports.study_report import Report
from tests.builders import talk
from tests.reports.html.studies import COACHING, fill, mixed, one, page, rated, report
from tests.reports.html.tree import parse

ATTACKS = [
    "<script>window.hit = 1</script>",
    "</script></style><img src=x onerror='window.hit = 2'>",
    "{{ 6007 * 6007 }}{% raw %}${6007 * 6007}",
    "<b><div><!-- </p>",
    '" onclick="window.hit = 3" x="',
    "\u202e\u2066 \u200b\u200d שלום",
    "\x00\x07\x1b[31m \ud800",
]


def island(found, id):
    (element,) = found.find(tag="script", id=id)
    return element.raw


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_is_text_wherever_it_stands(tmp_path, attack):
    about = talk((attack, f"Yes. {attack}"), (attack, attack), id=f"c1 {attack}", system=f"bot {attack}")
    about.metadata["scenario"] = attack
    given = rated(about, {"CQ8": "NO"}, rater=f"judge {attack}", reasoning=f"Turn 1: '{attack}' is {attack}.")
    found = page(fill(tmp_path / "s.db", COACHING, [about], given))
    scripts = [one for one in found.find(tag="script") if one.attributes.get("type") is None]
    assert len(scripts) == 1
    assert not found.find(tag="img")
    assert not [name for one in found.all() for name in one.attributes if name.startswith("on")]
    assert "36084049" not in found.one(id="c1").text
    (row,) = json.loads(island(found, "rows"))
    assert row[1].startswith("c1 ")


def test_only_our_own_script_may_run_and_nothing_may_be_loaded(tmp_path):
    found = page(mixed(tmp_path / "s.db"))
    (policy,) = found.find(tag="meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy.attributes["content"].startswith("default-src 'none'; img-src data:;")
    assert not re.search(r'(src|href)="https?:', (tmp_path / "s.html").read_text())
    assert not [one for one in found.all() if "style" in one.attributes]


def test_a_small_study_is_plain_html(tmp_path):
    path = mixed(tmp_path / "s.db")
    assert report(path, tmp_path / "r.html").form is Form.INLINE
    found = parse((tmp_path / "r.html").read_text())
    assert len(found.find(tag="article")) == 6
    hrefs = [link.attributes["href"] for row in found.one(id="list").find(tag="tr")[1:] for link in row.find(tag="a")]
    assert hrefs == [f"#{article.attributes['id']}" for article in found.find(tag="article")]


def test_every_link_within_a_page_leads_somewhere(tmp_path):
    found = page(mixed(tmp_path / "s.db", people=True))
    ids = {one.attributes["id"] for one in found.all() if "id" in one.attributes}
    assert len(ids) == len([one for one in found.all() if "id" in one.attributes])
    assert {one.attributes["href"][1:] for one in found.find(tag="a")} <= ids


def test_a_larger_study_is_one_file_with_packed_conversations(tmp_path, monkeypatch):
    path = mixed(tmp_path / "s.db")
    monkeypatch.setattr(writing, "_INLINE", 10)
    assert report(path, tmp_path / "r.html").form is Form.PACKED
    found = parse((tmp_path / "r.html").read_text())
    assert not found.find(tag="article")
    article = parse(zlib.decompress(base64.b64decode(island(found, "z3"))).decode()).one(tag="article")
    assert "Failing it must hurt" in article.text


def test_a_very_large_study_is_an_index_and_pages_that_need_no_script(tmp_path, monkeypatch):
    path = mixed(tmp_path / "s.db")
    monkeypatch.setattr(writing, "_INLINE", 10)
    monkeypatch.setattr(writing, "_PACKED", 10)
    monkeypatch.setattr(writing, "PER_PAGE", 4)
    monkeypatch.setattr(writing, "_MOST_ROWS", 3)
    written = report(path, tmp_path / "r.html")
    assert (written.form, written.files) == (Form.FOLDER, 1 + 2 + 2)  # index, conversations, words and cost
    found = parse((tmp_path / "r.html").read_text())
    rows = json.loads(zlib.decompress(base64.b64decode(island(found, "rows"))))
    assert [row[10] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert len(found.one(id="list").find(tag="tr")) == 1 + 3
    pages = [parse((tmp_path / "r.pages" / name).read_text()) for name in ("00001.html", "00002.html")]
    assert [len(one.find(tag="article")) for one in pages] == [4, 2]
    for link in found.one(id="list").find(tag="a"):
        file, _, anchor = link.attributes["href"].partition("#")
        assert parse((tmp_path / file).read_text()).one(id=anchor).tag == "article"
    assert pages[1].find(tag="a", href="00001.html")
    assert pages[1].find(tag="a", href="../r.html")
    assert "This file needs the folder r.pages next to it" in found.one(id="conversations").text
    assert written.folder == tmp_path / "r.pages"


def test_a_name_that_ends_in_a_slash_is_a_folder_of_plain_pages(tmp_path):
    assert report(mixed(tmp_path / "s.db"), f"{tmp_path}/out/").form is Form.FOLDER
    assert (tmp_path / "out" / "index.html").exists()
    assert (tmp_path / "out" / "pages" / "00001.html").exists()


def test_pages_of_an_earlier_report_do_not_stay(tmp_path):
    path = mixed(tmp_path / "s.db")
    (tmp_path / "out" / "pages").mkdir(parents=True)
    (tmp_path / "out" / "pages" / "00009.html").write_text("old")
    report(path, f"{tmp_path}/out/")
    assert {file.name for file in (tmp_path / "out" / "pages").iterdir()} == {"00001.html", "words.html", "cost.html"}


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    path = mixed(tmp_path / "s.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(AttunementError, match="cannot be") as error:
        report(path, tmp_path / "file" / "r.html")
    assert "\n" not in str(error.value)


def test_redaction_reaches_every_part_of_the_report(tmp_path):
    about = talk(("I am Anna.", "Write to Anna at a@b.org tonight."), id="c1")
    about.metadata["scenario"] = "Anna's exam"
    reasoning = "Turn 1: 'Write to Anna at a@b.org' is harmful to Anna."
    path = fill(tmp_path / "s.db", COACHING, [about], rated(about, {"CQ8": "NO"}, rater="Anna", reasoning=reasoning))
    page(path, Privacy(Redactor(["Anna"]).redact_text))
    written = (tmp_path / "s.html").read_text()
    assert "Anna" not in written
    assert "a@b.org" not in written
    assert "[name]" in written


def test_a_conversation_that_goes_while_the_report_is_written_is_left_out(tmp_path):
    path = mixed(tmp_path / "s.db")
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    with Study(path) as study, closing(Listing()) as listing:
        made = Report(study, instrument_of(study, None), listing, Privacy())
        study.delete(1)
        writing.write_page(made, tmp_path / "r.html")
    assert made.top.conversations == 6
    assert len(parse((tmp_path / "r.html").read_text()).find(tag="article")) == 5


def test_one_conversation_is_enough(tmp_path):
    found = page(fill(tmp_path / "s.db", COACHING, [one("c1")], rated(one("c1"))))
    assert found.one(tag="article").attributes["id"] == "c1"
