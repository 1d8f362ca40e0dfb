import pytest

from attunement.conversations import Turn
from attunement.conversations.chats import chat_messages
from attunement.conversations.json_files import BadRecord
from attunement.conversations.messages import Dialogue, Fields, Speakers, weave
from attunement.errors import InputError


def read_chat(text: str, **fields: tuple[str, ...]) -> Dialogue:
    return weave(chat_messages(text, Speakers(Fields(**fields))))


def test_labelled_lines_become_turns_and_the_file_s_name_the_id(read_file):
    [conversation] = read_file("user: hello\nchatbot: hi\nuser: bye\nchatbot: take care\n", name="c_17.txt")
    assert conversation.id == "c_17"
    assert conversation.turns == (Turn("hello", "hi"), Turn("bye", "take care"))


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("User:", "Assistant:"),
        ("human:", "AI:"),
        ("Client :", "Therapist :"),
        ("**User:**", "**Bot:**"),
        ("### Human:", "### Assistant:"),
        ("<user>:", "<assistant>:"),
        ("[User]:", "[Chatbot]:"),
        ("  Seeker:", "  Supporter:"),
    ],
)
def test_labels_are_known_in_many_spellings(user, assistant):
    assert read_chat(f"{user} hello\n{assistant} hi\n").turns == (Turn("hello", "hi"),)


def test_a_message_goes_on_until_the_next_label():
    talk = read_chat("user:\n  first\n\nsecond: part\nassistant: yes\n\n- one\n- two\n\n")
    assert talk.turns == (Turn("first\n\nsecond: part", "yes\n\n- one\n- two"),)


def test_only_the_two_labels_that_a_chat_begins_with_are_labels():
    talk = read_chat(
        "user: write a scene\nchatbot: Here:\nTherapist: how are you?\nClient: fine\nuser: thanks\nchatbot: sure"
    )
    assert talk.turns == (
        Turn("write a scene", "Here:\nTherapist: how are you?\nClient: fine"),
        Turn("thanks", "sure"),
    )


def test_a_system_label_before_the_talk_holds_instructions_and_later_is_text():
    talk = read_chat("System: be kind\nUser: hello\nAssistant: hi\nsystem: failure")
    assert talk.instructions == "be kind"
    assert talk.turns == (Turn("hello", "hi\nsystem: failure"),)


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(read_file):
    [conversation] = read_file(b"\xef\xbb\xbfuser: hello\r\nthere\r\nbot: hi\r\n", name="a.txt")
    assert conversation.turns == (Turn("hello\nthere", "hi"),)


def test_the_format_of_our_prompts_is_read():
    talk = read_chat(
        "--- Turn 1 ---\nUser: hello\n\nthere\nAssistant: hi\n\n--- Turn 2 ---\nUser: bye\nAssistant: take\ncare\n"
    )
    assert talk.turns == (Turn("hello\n\nthere", "hi"), Turn("bye", "take\ncare"))


def test_with_turn_headers_nothing_but_the_next_header_ends_a_reply():
    talk = read_chat(
        "--- Turn 1 ---\nUser: \nAssistant: hi\nUser: is a label\n--- Turn 7 ---\n--- Turn 1 ---\nAssistant: too\n"
        "--- Turn 2 ---\nUser: a\nUser: b\nAssistant: c"
    )
    assert talk.turns == (
        Turn("", "hi\nUser: is a label\n--- Turn 7 ---\n--- Turn 1 ---\nAssistant: too"),
        Turn("a\nUser: b", "c"),
    )


def test_a_last_message_without_a_reply_is_left_out_and_told():
    talk = read_chat("user: hello\nbot: hi\nuser: still there?")
    assert talk.turns == (Turn("hello", "hi"),)
    assert talk.unanswered


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n\nA title\nuser: hello\nbot: hi", 3),
        ("--- Turn 1 ---\nUser: hello\nAssistant: hi\n--- Turn 2 ---\n\nno label\nAssistant: hi", 6),
        ("narrator: once upon a time", 1),
        ("tool: 7", 1),
    ],
)
def test_words_without_a_label_are_refused_with_their_line(read_file, text, line):
    with pytest.raises(BadRecord) as caught:
        read_chat(text)
    assert caught.value.line == line
    with pytest.raises(InputError, match=rf"a\.txt:{line}: this text has no label"):
        read_file(text, name="a.txt")


def test_a_field_may_hold_a_whole_chat(read_file):
    [conversation] = read_file(
        'conversation_id,full_conversation,words\n20241031145103738386,"Seeker: hello\n Supporter: hi",2\n',
        name="a.csv",
    )
    assert conversation.id == "20241031145103738386"
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.metadata == {"words": "2"}


def test_a_chat_in_a_field_that_breaks_off_says_which_line_of_it(read_file):
    with pytest.raises(
        InputError, match=r"chats\.jsonl:2: this text has no label .* \(line 1 of the field 'transcript'\)"
    ):
        read_file({"transcript": "user: a\nbot: b"}, {"transcript": "what?"})
