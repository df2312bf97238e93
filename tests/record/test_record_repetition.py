from fixtures.record.repetition import find_repetition

QUIET = "The ledger is quiet and commits nothing slowly at the moment, as far as its logs tell."


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def test_new_answers_repeat_nothing():
    found = find_repetition([user("How is the ledger?"), said(QUIET), said("Roll it back.")])
    assert (found.answers, found.repeats, found.share) == (2, {}, 0.0)


def test_a_near_copy_of_a_user_or_an_assistant_message_repeats_it():
    messages = [
        user("The affected part is the ledger. Keep that."),
        said("The affected part is the ledger; keep that!"),
        said(QUIET),
        said(QUIET.replace("quiet", "Quiet") + "."),
        said("Something new."),
    ]
    found = find_repetition(messages)
    assert found.repeats == {1: 0, 3: 2}
    assert found.share == 0.5


def test_an_answer_that_hands_back_part_of_a_message_repeats_it():
    asked = user("They join in ten minutes. Which question should we ask them first?")
    assert find_repetition([asked, said("They join in ten minutes.")]).repeats == {1: 0}
    assert find_repetition([asked, said("Ten minutes.")]).repeats == {}


def test_a_long_quotation_from_a_tool_result_repeats_and_a_short_one_does_not():
    log = "a line before\n" + QUIET + "\nerror_rate 11.2\n"
    messages = [{"role": "tool", "content": log}, said(QUIET), said("error_rate 11.2")]
    assert find_repetition(messages).repeats == {1: 0}


def test_the_system_message_and_messages_without_text_do_not_count():
    call = {"role": "assistant", "content": None, "tool_calls": []}
    messages = [{"role": "system", "content": QUIET}, call, said(QUIET)]
    found = find_repetition(messages)
    assert (found.answers, found.repeats) == (1, {})


def test_a_session_without_answers_has_a_share_of_zero():
    assert find_repetition([user("anyone?")]).share == 0.0
