"""Logs of other tools: small files written after the public documentation of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Fields, Reading, ReadOptions, read
from attunement.errors import InputError


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def reading(folder: Path, content: Any, name: str = "log.json", **fields: Any) -> Reading:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
    return read([path], ReadOptions(system="bot", fields=Fields(**fields)))


def langfuse_row(*cells: Any) -> str:
    texts = (cell if isinstance(cell, str) else json.dumps(cell) for cell in cells)
    return ",".join('"{}"'.format(text.replace('"', '""')) for text in texts) + "\n"


HEADER = "id,timestamp,name,sessionId,input,output,metadata\n"


def test_a_langfuse_table_is_read_by_session_in_the_order_of_time(tmp_path: Path):
    # The newest trace is first, and each carries all messages before it.
    table = HEADER
    table += langfuse_row("t2", "2026-01-05T10:01:00Z", "chat", "s1", [user("a"), assistant("b"), user("c")], "d", {})
    table += langfuse_row("t3", "2026-01-05T10:00:30Z", "chat", "", {"messages": [user("x")]}, assistant("y"), {})
    table += langfuse_row("t1", "2026-01-05T10:00:00Z", "chat", "s1", [user("a")], assistant("b"), {})
    found = {each.id: each.turns for each in reading(tmp_path, table, "log.csv")}
    assert found == {"s1": (Turn("a", "b"), Turn("c", "d")), "t3": (Turn("x", "y"),)}


def test_texts_in_a_langfuse_table_are_json_and_what_is_not_a_message_stops_the_reading(tmp_path: Path):
    times = ("2026-01-05T10:00:00Z", "2026-01-05T10:01:00Z")
    table = HEADER + langfuse_row("t1", times[0], "chat", "s1", '"a"', {"answer": "b", "tokens": 7}, {})
    table += langfuse_row("t2", times[1], "chat", "s1", {"question": "c"}, '"d"', {})
    [conversation] = reading(tmp_path, table, "log.csv")
    assert conversation.turns == (Turn("a", "b"), Turn("c", "d"))
    table = HEADER + langfuse_row("t1", times[0], "chat", "", {"state": {"x": 1}}, '"d"', {})
    with pytest.raises(InputError, match=r"log\.csv:2: the field 'input' is JSON without messages"):
        list(reading(tmp_path, table, "log.csv"))


def test_langfuse_traces_of_a_session_with_one_message_each_are_put_one_after_the_other(tmp_path: Path):
    traces = [
        {"id": "t1", "timestamp": "2026-01-05T10:00:00Z", "sessionId": "s1", "input": "a", "output": "b"},
        {"id": "t2", "timestamp": "2026-01-05T10:01:00Z", "sessionId": "s1", "input": "c", "output": "d"},
    ]
    for content in (traces, {"id": "s1", "projectId": "p", "traces": traces}):
        [conversation] = reading(tmp_path, content)
        assert (conversation.id, conversation.turns) == ("s1", (Turn("a", "b"), Turn("c", "d")))


def test_of_langfuse_observations_only_the_generations_count(tmp_path: Path):
    rows = [
        {"id": "o1", "traceId": "t", "type": "SPAN", "startTime": "2026-01-05T10:00:00Z", "input": "q", "output": "r"},
        {
            "id": "o2",
            "traceId": "t",
            "type": "GENERATION",
            "startTime": "2026-01-05T10:00:01Z",
            "model": "m1",
            "input": [{"role": "system", "content": "Be kind."}, user("a")],
            "output": assistant("b"),
        },
    ]
    log = reading(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "log.jsonl")
    [conversation] = log
    assert (conversation.id, conversation.system, conversation.turns) == ("t", "m1", (Turn("a", "b"),))
    assert conversation.instructions == "Be kind."
    assert log.counts.notes[-1].endswith("log entries that are not calls to a model, left out: 1")


def text_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def span(number: int, attributes: dict[str, Any]) -> dict[str, Any]:
    typed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    start = str(1_767_600_000_000_000_000 + number)
    return {"traceId": f"trace{number}", "spanId": str(number), "startTimeUnixNano": start, "attributes": typed}


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def test_opentelemetry_spans_are_read_by_conversation(tmp_path: Path):
    def call(number: int, before: list[Any], reply: str) -> dict[str, Any]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m1",
            "gen_ai.conversation.id": "c1",
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be kind."}]),
            "gen_ai.input.messages": json.dumps(before),
            "gen_ai.output.messages": json.dumps([{**text_message("assistant", reply), "finish_reason": "stop"}]),
        }
        return span(number, attributes)

    first, tool = call(1, [text_message("user", "a")], "b"), span(2, {"gen_ai.operation.name": "execute_tool"})
    answered = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "sunny"}]}
    before = [text_message("user", "a"), text_message("assistant", "b"), text_message("user", "c"), answered]
    log = reading(tmp_path, otlp(call(3, before, "d"), tool, first))
    [conversation] = log
    assert (conversation.id, conversation.system, conversation.instructions) == ("c1", "m1", "Be kind.")
    assert conversation.turns[0] == Turn("a", "b")
    assert conversation.turns[1].user == "c"
    assert conversation.turns[1].assistant.endswith("[tool result: sunny]]\n\nd")
    assert log.counts.notes[-1].endswith("left out: 1")


def test_earlier_forms_of_spans_are_read_too(tmp_path: Path):
    numbered = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "a",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "b",
    }
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "c"}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "d"})}},
    ]
    flat = {"name": "chat m1", "context": {"trace_id": "0x7"}, "attributes": {"gen_ai.request.model": "m1"}}
    lines = [otlp(span(1, numbered)), {**flat, "start_time": "2026-01-05T10:00:00Z", "events": events}]
    log = reading(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "spans.jsonl")
    assert {each.id: each.turns for each in log} == {"trace1": (Turn("a", "b"),), "0x7": (Turn("c", "d"),)}


def response(id: str, given: Any, reply: str, **others: Any) -> dict[str, Any]:
    output = [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reply}]},
    ]
    return {"id": id, "object": "response", "model": "m1", "input": given, "output": output, **others}


def test_a_chain_of_openai_responses_is_one_conversation(tmp_path: Path):
    lines = [
        response("r1", "a", "b", created_at=1_767_600_000, instructions="Be kind."),
        response("r2", [user("c")], "d", created_at=1_767_600_060, previous_response_id="r1"),
        {"request": {"model": "m1", "input": "x"}, "response": response("r3", "x", "y")},
    ]
    log = reading(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "log.jsonl")
    found = {each.id: each for each in log}
    assert found["r1"].turns == (Turn("a", "b"), Turn("c", "d"))
    assert (found["r1"].system, found["r1"].instructions) == ("m1", "Be kind.")
    assert found["r3"].turns == (Turn("x", "y"),)


def test_a_response_without_its_input_says_what_is_missing(tmp_path: Path):
    lonely = {key: value for key, value in response("r1", "a", "b").items() if key != "input"}
    with pytest.raises(InputError, match=r"log\.json:1: this is a response without its input"):
        list(reading(tmp_path, lonely))


def test_requests_and_responses_of_chat_completions_are_read(tmp_path: Path):
    line = {"request": {"model": "m1", "messages": [user("a")]}, "response": {"choices": [{"message": assistant("b")}]}}
    [conversation] = reading(tmp_path, json.dumps(line) + "\n", "log.jsonl")
    assert (conversation.system, conversation.turns) == ("m1", (Turn("a", "b"),))


def test_messages_inside_the_text_of_a_message_stop_the_reading(tmp_path: Path):
    inside = json.dumps([user("a"), assistant("b")])
    for record in ({"turns": [{"user": inside, "assistant": "c"}]}, {"messages": [user("x"), assistant(inside)]}):
        with pytest.raises(InputError, match=r"log\.jsonl:1: the text of a message is JSON with speakers inside"):
            list(reading(tmp_path, json.dumps(record) + "\n", "log.jsonl"))
    quoted = {"messages": [user("show me JSON"), assistant('{"role": "admin"}')]}
    assert list(reading(tmp_path, json.dumps(quoted) + "\n", "log.jsonl"))


@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
def test_a_key_that_occurs_twice_is_named_with_its_line(tmp_path: Path, name: str):
    good = '{"id": "1", "prompt": "a", "response": "b"}'
    with pytest.raises(InputError, match=rf"{name}:2: an object has the key 'user' twice, so one"):
        list(reading(tmp_path, good + '\n{"turns": [{"user": "a", "assistant": "b", "user": "c"}]}\n', name))


ANDROID = (
    "12/31/25, 9:15 PM - Messages and calls are end-to-end encrypted.\n12/31/25, 9:15 PM - Anna: hello\nthere\n"
    "12/31/25, 9:16 PM - Sunny: hi\n12/31/25, 9:20 PM - Anna: 10:30 works for me: yes\n12/31/25, 9:21 PM - Sunny: ok\n"
)
IOS = (
    "[31.12.25, 21:15:03] \u200eMessages and calls are end-to-end encrypted.\n[31.12.25, 21:15:30] Anna: hello\nthere\n"
    "\u200e[31.12.25, 21:16:10] Sunny: hi\n[31.12.25, 21:20:00] Anna: 10:30 works for me: yes\n"
    "[31.12.25, 21:21:00] Sunny: ok\n"
)


@pytest.mark.parametrize("text", [ANDROID, IOS])
def test_whatsapp_exports_are_read_with_the_names_of_the_speakers(tmp_path: Path, text: str):
    with pytest.raises(InputError, match=r"chat\.txt:1: Anna and Sunny speak here: say who is who with --person-name"):
        list(reading(tmp_path, text, "chat.txt"))
    log = reading(tmp_path, text, "chat.txt", person=("Anna",), assistant=("Sunny",))
    [conversation] = log
    assert conversation.turns == (Turn("hello\nthere", "hi"), Turn("10:30 works for me: yes", "ok"))
    assert log.counts.notices == 1


@pytest.mark.parametrize(
    "text",
    [
        "10:03 Anna: hello\nthere\n10:04 Sunny: hi\n",
        "[10:03] Anna: hello\nthere\n[10:04] Sunny: hi\n",
        "2026-01-05 10:03:22 Anna: hello\nthere\n2026-01-05 10:04:00 Sunny: hi\n",
        "Anna (10:03): hello\nthere\nSunny (10:04): hi\n",
        "Anna: hello\nthere\nSunny: hi\n",
    ],
)
def test_transcripts_with_names_and_times_are_read(tmp_path: Path, text: str):
    [conversation] = reading(tmp_path, text, "chat.txt", person=("Anna",), assistant=("Sunny",))
    assert conversation.turns == (Turn("hello\nthere", "hi"),)


def test_speakers_without_a_role_are_named_in_the_error(tmp_path: Path):
    text = "Anna: hello\nSunny: hi\nAnna: bye\nSunny: see you\n"
    with pytest.raises(InputError, match=r"chat\.txt:1: Anna and Sunny speak here: .*--assistant-name NAME"):
        list(reading(tmp_path, text, "chat.txt"))


def test_rows_by_unknown_speakers_without_an_id_say_who_is_not_known(tmp_path: Path):
    table = "speaker,text\nAnna,a\nSunny,b\n"
    with pytest.raises(InputError, match=r"log\.csv:2: the speaker 'Anna' is not known .*--person-name 'Anna' or"):
        list(reading(tmp_path, table, "log.csv"))
    [conversation] = reading(tmp_path, table, "log.csv", person=("Anna",), assistant=("Sunny",))
    assert conversation.turns == (Turn("a", "b"),)


def test_a_record_that_does_not_fit_says_how_the_ones_before_it_were_read(tmp_path: Path):
    lines = [{"messages": [user("a"), assistant("b")]}, {"said": "x", "heard": "y"}]
    with pytest.raises(InputError, match=r"log\.jsonl:2: no conversation found .*\(.*were read as 'messages'\)"):
        list(reading(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "log.jsonl"))
