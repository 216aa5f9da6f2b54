from hypothesis import given
from hypothesis import strategies as st

from bigtensor.abundance.natural_order import as_numbers, natural_key, natural_order


def ordered(*names):
    return [names[place] for place in natural_order(names)]


def test_natural_order__compares_numbers_in_names():
    assert ordered("Activation_10", "Activation_2", "activation_1") == [
        "activation_1",
        "Activation_2",
        "Activation_10",
    ]


def test_natural_order__of_numbers_is_that_of_their_values():
    assert ordered("0.5", "0", "0.005", "1e-9", "-3") == ["-3", "0", "1e-9", "0.005", "0.5"]


def test_as_numbers__refuses_texts_and_infinities():
    assert as_numbers(["1", "x"]) is None
    assert as_numbers(["1", "inf"]) is None
    assert as_numbers(["1", "nan"]) is None


@given(st.lists(st.text(max_size=6), unique=True))
def test_natural_key__orders_any_names_without_ties(names):
    keys = sorted(map(natural_key, names))
    assert len(set(keys)) == len(names)
