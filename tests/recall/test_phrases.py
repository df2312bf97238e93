"""Phrases that decline to answer, in every language that ships."""

import hashlib
import importlib.resources
import unicodedata

import pytest

from pytest_ctxguard import recall
from pytest_ctxguard.errors import InputError
from pytest_ctxguard.recall.outcomes import RULES, judge
from pytest_ctxguard.recall.phrases import FILE, KEYS, declines, languages, plain, read_languages
from tests.factories import shard, user

DECLINED = {
    "en": [
        "I can't find the shard.",
        "I couldn’t find any shard in the logs.",
        "I am not able to identify the shard.",
        "There is no shard mentioned in this chat.",
        "There isn't any shard in the logs.",
        "That was never specified.",
        "I'm not certain which one it is.",
        "Could you tell me the shard?",
        "Please provide the shard name.",
        "I need more information.",
        "N/A",
        "None.",
        "**Unspecified**",
    ],
    "ru": [
        "Я не знаю, какой шард затронут.",
        "В переписке шард не был указан.",
        "Шард не упоминается.",
        "Я не нашёл такой информации.",
        "Нет никакой информации о шарде.",
        "Название шарда неизвестно.",
        "Затрудняюсь ответить.",
        "Невозможно определить шард.",
        "Уточните, пожалуйста, о каком шарде речь.",
        "Не могу сказать.",
    ],
    "uk": [
        "Я не знаю, який це шард.",
        "Я не пам’ятаю.",
        "Шард не вказано.",
        "Немає інформації про шард.",
        "Це невідомо.",
        "Неможливо визначити шард.",
        "Уточніть, будь ласка.",
    ],
    "de": [
        "Ich weiß es nicht.",
        "Das weiß ich leider nicht.",
        "Ich kann den Shard nicht finden.",
        "Dazu konnte ich keine Angabe finden.",
        "Der Shard wurde nicht genannt.",
        "Der Name ist mir nicht bekannt.",
        "Es liegen keine Informationen vor.",
        "Der Shard ist unbekannt.",
        "Ich habe darauf keinen Zugriff.",
        "Keine Angabe",
    ],
    "fr": [
        "Je ne sais pas.",
        "Je ne le sais pas, désolé.",
        "Je n’ai pas cette information.",
        "Je n'ai pas trouvé le shard.",
        "Le shard n'est pas mentionné.",
        "Aucune information n'est disponible.",
        "Le nom est inconnu.",
        "Il est impossible de déterminer le shard.",
        "Je ne trouve aucun shard.",
        "Aucun",
    ],
    "es": [
        "No lo sé.",
        "No sé cuál es.",
        "No tengo esa información.",
        "No se menciona ningún shard.",
        "No puedo determinar el shard.",
        "No hay información sobre eso.",
        "El nombre es desconocido.",
        "Lo desconozco.",
        "No estoy seguro.",
        "Ninguno",
    ],
    "pt": [
        "Não sei.",
        "Eu não me lembro.",
        "Não tenho essa informação.",
        "O shard não foi mencionado.",
        "Não consigo identificar o shard.",
        "Não há informações sobre isso.",
        "O nome é desconhecido.",
        "Nenhum",
    ],
    "it": [
        "Non lo so.",
        "Non ricordo.",
        "Non ho informazioni al riguardo.",
        "Lo shard non è stato indicato.",
        "Non posso determinare lo shard.",
        "Non sono sicuro.",
        "Il nome è sconosciuto.",
        "Nessuno",
    ],
    "pl": [
        "Nie wiem.",
        "Nie pamiętam nazwy.",
        "Nie mam takich informacji.",
        "Nie podano nazwy.",
        "Shard nie został wymieniony.",
        "Brak danych.",
        "Nazwa jest nieznana.",
        "Nie jestem pewien.",
    ],
    "tr": [
        "Bilmiyorum.",
        "Hatırlamıyorum.",
        "Bunu bulamadım.",
        "Bu konuda bilgi yok.",
        "Parça adı belirtilmemiş.",
        "Emin değilim.",
        "Bilinmiyor",
    ],
    "ar": [
        "لا أعرف.",
        "لا أتذكر الرقم.",
        "لا توجد معلومات عن ذلك.",
        "لم يتم ذكر الرقم.",
        "لم يذكر الاسم.",
        "الرقم غير معروف.",
        "لست متأكدا.",
        "ليس لدي هذه المعلومة.",
    ],
    "hi": [
        "मुझे नहीं पता।",
        "मुझे पता नहीं है।",
        "मुझे याद नहीं है।",
        "इसकी जानकारी उपलब्ध नहीं है।",
        "इसका कोई उल्लेख नहीं है।",
        "यह अज्ञात है।",
    ],
    "zh": [
        "我不知道是哪个分片。",
        "没有提到分片。",
        "对话中没有关于分片的信息。",
        "无法确定。",
        "未指定。",
        "我找不到这个分片。",
        "沒有提到這個編號。",
        "無法確定。",
        "请提供分片名称。",
        "无",
    ],
    "ja": [
        "わかりません。",
        "分かりません。",
        "申し訳ありませんが、存じません。",
        "その情報はありません。",
        "シャード名は記載されていません。",
        "不明です。",
        "見つかりませんでした。",
        "特定できません。",
        "覚えていません。",
        "なし",
    ],
    "ko": [
        "모르겠습니다.",
        "알 수 없습니다.",
        "기억나지 않습니다.",
        "기억하지 못합니다.",
        "찾을 수 없습니다.",
        "그 정보는 없습니다.",
        "샤드는 언급되지 않았습니다.",
        "확실하지 않습니다.",
        "없음",
    ],
}

ANSWERED = {
    "en": [
        "The slow one, as you told me.",
        "Nothing else is slow.",
        "There is no problem at all.",
        "Nonetheless it is the slow one.",
        "Done.",
        "Please note the slow one.",
        "I can see it: the slow one.",
    ],
    "ru": ["Я знаю: тот, что медленный.", "Нет проблем!", "Указан тот, что медленный.", "Готово."],
    "uk": ["Я знаю: повільний.", "Немає проблем!", "Вказано повільний.", "Готово."],
    "de": ["Ich weiß es: der langsame.", "Kein Problem!", "Der bekannte, langsame.", "Erledigt."],
    "fr": ["Je sais : le lent.", "Pas de problème !", "Il est indiqué : le lent.", "C'est fait."],
    "es": ["Lo sé: el lento.", "No hay problema.", "Se menciona el lento.", "Hecho."],
    "pt": ["Eu sei: o lento.", "Não há problema.", "Foi informado o lento.", "Feito."],
    "it": ["Lo so: quello lento.", "Non c'è problema.", "È indicato quello lento.", "Fatto."],
    "pl": ["Wiem: ten wolny.", "Nie ma problemu.", "Podano ten wolny.", "Gotowe."],
    "tr": ["Biliyorum: yavaş olan.", "Sorun değil.", "Yavaş olan belirtildi.", "Tamam."],
    "ar": ["أعرف: البطيء.", "لا مشكلة.", "تم ذكر البطيء.", "تم."],
    "hi": ["मुझे पता है: धीमा वाला।", "कोई समस्या नहीं है।", "हो गया।"],
    "zh": ["我知道是慢的那个。", "没问题。", "有提到慢的那个。", "完成。"],
    "ja": [
        "わかりました。遅い方です。",
        "問題ありません。",
        "記載されています。",
        "完了しました。",
    ],
    "ko": ["알겠습니다. 느린 것입니다.", "문제없습니다.", "언급되었습니다.", "완료했습니다."],
}

SHOWN = [user("pay-shard-7 is slow, pay-shard-9 is idle")]


def rows(table):
    return [(code, text) for code, texts in table.items() for text in texts]


def in_language(code):
    return next(language for language in languages() if language.code == code)


def test_every_language_is_tested():
    codes = [language.code for language in languages()]
    assert sorted(DECLINED) == sorted(ANSWERED) == sorted(codes)


@pytest.mark.parametrize(("code", "text"), rows(DECLINED))
def test_an_answer_that_declines(code, text):
    assert in_language(code).declined(plain(text))
    assert declines(unicodedata.normalize("NFD", text))
    assert judge(text, shard(), SHOWN) == "abstained"


@pytest.mark.parametrize(("code", "text"), rows(ANSWERED))
def test_an_answer_that_does_not(code, text):
    assert not declines(text)
    assert judge(text, shard(), SHOWN) == "other"


@pytest.mark.parametrize(("code", "text"), rows(DECLINED))
def test_what_it_gives_outweighs_that_it_declines(code, text):
    assert judge(f"{text} pay-shard-7", shard(), SHOWN) == "hit"
    assert judge(f"{text} pay-shard-9", shard(), SHOWN) == "neighbour"
    assert judge(f"pay-shard-11: {text}", shard(), SHOWN) == "invented"


def test_phrases_and_rules_change_together():
    """Else an answer could change its outcome and look like a regression: raise both."""
    file = importlib.resources.files(recall) / FILE
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    assert (RULES, digest) == ("2", "a0ddc6f285f9")


def test_a_phrase_inside_a_word_does_not_decline():
    assert not declines("Kunknown")
    assert not declines("Снеизвестно")


def test_a_word_that_declines_when_alone_does_not_within_a_sentence():
    assert declines(" None. ")
    assert not declines("None of it: the slow one.")


GOOD = {
    "name": '"Test"', "spaces": "true", "declines": "['no idea']", "whole": "['none']",
    "stop_words": '"the a"',
}  # fmt: skip


def toml(**changes):
    table = {**GOOD, **changes}
    return "[xx]\n" + "\n".join(f"{key} = {value}" for key, value in table.items() if value)


def test_a_language_is_read():
    [language] = read_languages(toml(), path="here")
    assert (language.code, language.name, language.spaces) == ("xx", "Test", True)
    assert language.whole == {"none"}
    assert language.stop_words == {"the", "a"}
    assert language.declines.search("I have No Idea.")
    assert not language.declines.search("kno ideal")
    [unspaced] = read_languages(toml(spaces="false", stop_words='"的了"'), path="here")
    assert unspaced.stop_words == {"的", "了"}
    assert unspaced.declines.search("kno ideal")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no language"),
        ("[xx", "not TOML"),
        ("xx = 1", "[xx] is no table"),
        (toml(colour="1"), "unknown key 'colour'; it may have: " + ", ".join(KEYS)),
        (toml(name=""), "[xx] name must be text"),
        (toml(name="1"), "[xx] name must be text"),
        (toml(spaces="1"), "[xx] spaces must be true or false"),
        (toml(declines=""), "[xx] declines must be a list"),
        (toml(declines="[]"), "[xx] declines must be a list of texts, and not empty"),
        (toml(declines="[1]"), "[xx] declines has 1, which is no text"),
        (toml(whole="[' ']"), "[xx] whole has ' ', which is no text"),
        (toml(declines="['a', 'a']"), "[xx] declines lists a text twice"),
        (toml(declines="['(']"), "[xx] '(' is no regular expression"),
        (toml(declines="['x*']"), "[xx] 'x*' matches any answer"),
        (toml(declines="['don’t']"), "which no answer can match"),
        (toml(stop_words='"e\u0301"'), "which no answer can match"),
        (toml(stop_words='" "'), "[xx] stop_words must be text"),
    ],
)
def test_a_broken_file_is_an_error_that_names_it(text, problem):
    with pytest.raises(InputError) as caught:
        read_languages(text, path="here")
    assert str(caught.value).startswith("here: ")
    assert problem in str(caught.value)
