"""Words that a wording shares with the message that plants its fact."""

import pytest

from pytest_ctxguard.recall.overlap import shared_words

SAID = "Any ticket must be filed under my employee number 4417, please."

SHARED = [
    # English: stop words do not count, endings do not matter
    ("Who opens it?", SAID, ()),
    ("What is my staff id?", SAID, ()),
    ("Which employee number is it?", SAID, ("employee", "number")),
    ("Under which number do I file TICKETS?", SAID, ("number", "file", "tickets")),
    ("Which shard?", "pay-shard-7 is slow", ("shard",)),
    ("Is it so?", "It is so.", ()),
    ("", SAID, ()),
    ("Who?", "", ()),
    # words that begin alike are the same, those of two letters only if they are
    ("Is it up?", "The upload is done.", ()),
    ("Is the log full?", "The logs are full.", ("log", "full")),
    ("Who pays?", "I pay for it.", ("pays",)),
    ("Which payments shard?", "pay-shard-7 is slow", ("shard",)),
    # other languages
    ("Какой у меня номер?", "Мой табельный номер — 4417.", ("номер",)),
    ("Под каким номером?", "Мой табельный номер — 4417.", ("номером",)),
    ("Кто я в системе?", "Мой табельный номер — 4417.", ()),
    ("Wie lautet die Nummer?", "Meine Nummer ist 4417.", ("nummer",)),
    ("Wer bin ich?", "Meine Nummer ist 4417, und ich bin hier.", ()),
    ("Qual é o meu número?", "O meu número de funcionário é 4417.", ("número",)),
    ("मेरा नंबर क्या है?", "मेरा कर्मचारी नंबर 4417 है।", ("नंबर",)),
    ("ما هو الرقم؟", "رقمي هو 4417", ()),
    ("员工编号是什么？", "我的员工编号是4417。", ("员工", "工编", "编号")),
    ("我是谁？", "我的员工编号是4417。", ()),
    ("社員番号は何ですか。", "私の社員番号は4417です。", ("社員", "員番", "番号")),
    ("それは何ですか。", "私の社員番号は4417です。", ()),
    ("직원 번호는 무엇입니까?", "제 직원 번호가 4417입니다.", ("직원", "번호")),
]


@pytest.mark.parametrize(("wording", "planted", "words"), SHARED)
def test_shared_words(wording, planted, words):
    assert shared_words(wording, planted) == words


def test_a_word_is_named_once():
    assert shared_words("Number or number?", SAID) == ("number",)


def test_decomposed_letters_are_the_same():
    assert shared_words("Qual é o número?", "O nu\u0301mero é 4417.") == ("número",)


def test_a_stop_word_of_another_language_counts():
    assert shared_words("Why did the war begin?", "The war is on.") == ("war",)
