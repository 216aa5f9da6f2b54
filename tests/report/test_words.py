import pytest

from bigtensor.errors import Message, Setting
from bigtensor.models.words.faults import verdict_words
from bigtensor.models.words.wording import counted, passes_in_words, sentence_of, size, words_of


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [(512, "512 bytes"), (2048, "2.0 KiB"), (300 * 2**20, "300 MiB"), (2**41, "2.0 TiB")],
)
def test_size__uses_the_unit_that_fits(nbytes, words):
    assert size(nbytes) == words


def test_counted__agrees_with_its_noun():
    assert counted(1, "pass", "passes") == "1 pass"
    assert counted(1200, "row") == "1,200 rows"


def test_sentence_of__has_a_capital_and_one_full_stop():
    assert sentence_of("the end.") == "The end."


def test_sentence_of__keeps_parameters_that_the_command_line_writes_as_options():
    use = "use fewer states (" + Setting("n_components") + ")"
    written = sentence_of(use).written(lambda setting: f"--{setting.name}")
    assert written == "Use fewer states (--n_components)."
    # a parameter is spelled as it is, also where the sentence begins with it
    assert sentence_of(Setting("bins") + " is 3") == "bins is 3."


def test_verdict__of_several_faults_reads_as_sentences():
    faults = ["few rows; use " + Setting("max_iter", 9), "no order"]
    words = verdict_words({"good": False, "sentences": faults})
    assert words == "Few rows; use max_iter=9. No order."
    assert isinstance(words, Message)


def test_words_of__joins_the_last_number_by_and():
    assert words_of([4]) == "4"
    assert words_of([4, 5]) == "4 and 5"
    assert words_of([4, 5, 9]) == "4, 5 and 9"


def test_words_of__writes_runs_from_the_first_to_the_last():
    assert words_of([4, 5, 6]) == "4 to 6"
    assert words_of([2, 4, 5, 6, 7, 9, 10]) == "2, 4 to 7, 9 and 10"


def test_passes__of_one_name_are_one_entry():
    read = [("pilot", 500), ("posterior 1", 2000), ("posterior 2", 2000), ("posterior 1", 900)]
    passes = [{"name": name, "rows": rows} for name, rows in read]
    assert passes_in_words(passes).split(", ") == [
        "pilot (500 rows)",
        "posterior 1 to 2 (2,000 rows each)",
        "posterior 1 (900 rows)",
    ]
    assert passes_in_words([{"name": "turns", "rows": 9}] * 3) == "turns 1 to 3 (9 rows each)"
    assert passes_in_words([]) == ""


def test_passes__whose_numbers_start_again_are_counted():
    names = ["messages 1", "expectation 1", "expectation 2", "messages 1", "expectation 1"]
    passes = [{"name": name, "rows": 9} for name in names]
    assert passes_in_words(passes).split(", ") == [
        "messages 2 times (9 rows each)",
        "expectation 3 times (9 rows each)",
    ]
    unnumbered = [{"name": name, "rows": 9} for name in ("topics", "topics 2", "topics 3")]
    assert passes_in_words(unnumbered) == "topics 1 to 3 (9 rows each)"
