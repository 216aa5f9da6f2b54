"""Conditions on rows: every tree is what NumPy says, and every mistake is named with its place."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bigtensor.data.rows.condition_syntax import MOST_CHARACTERS, MOST_DEPTH, parse_condition
from bigtensor.data.rows.row_condition import ConditionColumn, column_of, condition_on
from bigtensor.errors import ConditionError, ParameterError

ROWS = 40
RANDOM = np.random.default_rng(5)
NUMBERS = RANDOM.integers(-2, 4, ROWS).astype("float32")
NUMBERS[::7] = np.nan
SAMPLES = ("ann", "bob's", 'c "d"')
VALUES: dict[str, NDArray[Any]] = {
    "CD3": NUMBERS,
    "FSC-A": RANDOM.integers(-3, 3, ROWS).astype("int64"),
    "gate": RANDOM.random(ROWS) < 0.5,
    "sample_id": RANDOM.integers(-1, len(SAMPLES), ROWS).astype("int32"),
    "batch": np.array([["day 1", "day 2", None][code] for code in RANDOM.integers(0, 3, ROWS)]),
}
COLUMNS = {
    "CD3": ConditionColumn("numbers"),
    "FSC-A": ConditionColumn("numbers"),
    "gate": ConditionColumn("flags"),
    "sample_id": ConditionColumn("names", SAMPLES),
    "batch": ConditionColumn("names"),
    "when": ConditionColumn("others"),
}
NAMES = {
    "sample_id": [SAMPLES[code] if code >= 0 else None for code in VALUES["sample_id"]],
    "batch": VALUES["batch"].tolist(),
}

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Case = tuple[str, NDArray[np.bool_]]
"""A condition and the rows that meet it."""


def written(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compared(left: NDArray[Any], sign: str, right: Any) -> NDArray[np.bool_]:
    """Return a comparison in which NaN is false."""
    return OPERATORS[sign](left, right) & (left == left) & (np.asarray(right) == right)


NUMERIC = st.sampled_from(["CD3", "FSC-A"])
SIGNS = st.sampled_from(sorted(OPERATORS))
LITERALS = st.integers(-3, 4) | st.sampled_from([0.5, -1.25, 1e3])


@st.composite
def comparisons(draw: st.DrawFn) -> Case:
    name, sign, number = draw(NUMERIC), draw(SIGNS), draw(LITERALS)
    if draw(st.booleans()):
        return f"{written(name)}{sign}{number}", compared(VALUES[name], sign, number)
    mirrored = compared(np.full(ROWS, number), sign, VALUES[name]) & (VALUES[name] == VALUES[name])
    return f"{number} {sign} {written(name)}", mirrored


@st.composite
def chains(draw: st.DrawFn) -> Case:
    low, high, signs = draw(LITERALS), draw(LITERALS), [draw(SIGNS), draw(SIGNS)]
    name = draw(NUMERIC)
    values = VALUES[name]
    first = compared(np.full(ROWS, low), signs[0], values) & (values == values)
    return (
        f"{low}{signs[0]}{written(name)} {signs[1]} {high}",
        first & compared(values, signs[1], high),
    )


@st.composite
def memberships(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(["sample_id", "batch"]))
    present = sorted({entry for entry in NAMES[name] if entry is not None})
    entries = draw(st.lists(st.sampled_from(present), min_size=1, max_size=3))
    negated = draw(st.booleans())
    rows = np.array(
        [entry is not None and (entry in entries) != negated for entry in NAMES[name]], bool
    )
    if len(entries) == 1 and draw(st.booleans()):
        return f"{name} {'!=' if negated else '=='} {quoted(entries[0])}", rows
    listed = ", ".join(map(quoted, entries))
    return f"{name} {'not in' if negated else 'in'} [{listed}]", rows


@st.composite
def joined(draw: st.DrawFn, parts: st.SearchStrategy[Case]) -> Case:
    (first, left), (second, right) = draw(parts), draw(parts)
    word = draw(st.sampled_from(["and", "or"]))
    return f"({first}) {word} ({second})", (left & right) if word == "and" else (left | right)


CASES: st.SearchStrategy[Case] = st.recursive(
    st.one_of(comparisons(), chains(), memberships(), st.just(("gate", VALUES["gate"]))),
    lambda parts: st.one_of(joined(parts), parts.map(lambda case: (f"not ({case[0]})", ~case[1]))),
    max_leaves=6,
)


def meeting(text: str) -> NDArray[np.bool_]:
    (condition,) = condition_on(text, [COLUMNS])
    return condition.evaluate({name: VALUES[name] for name in condition.columns})


@given(case=CASES)
def test_condition__keeps_the_rows_that_numpy_keeps(case: Case) -> None:
    text, rows = case
    np.testing.assert_array_equal(meeting(text), rows)


@given(case=CASES)
def test_condition__leaves_values_as_they_are(case: Case) -> None:
    before = {name: values.copy() for name, values in VALUES.items()}
    meeting(case[0])
    for name, values in before.items():
        np.testing.assert_array_equal(VALUES[name], values)


def test_words_bind_as_in_python() -> None:
    rows = meeting("not gate and CD3 > 1 or `FSC-A` == 2")
    expected = (~VALUES["gate"] & (NUMBERS > 1)) | (VALUES["FSC-A"] == 2)
    np.testing.assert_array_equal(rows, expected)


@given(text=st.text(alphabet="CD3 gate`\"'()[],.<>=!0123456789eandorti-_\n", max_size=40))
def test_any_text__is_a_condition_or_an_error(text: str) -> None:
    try:
        rows = meeting(text)
    except ConditionError:
        return
    assert rows.shape == (ROWS,)
    assert rows.dtype == bool


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("CD3 >", "at its end", "a number"),
        ("CD3 > > 3", "character 7", "a name"),
        ("CD4 > 2", "character 1", "did you mean CD3"),
        ("fsc > 2", "character 1", "`FSC-A`"),
        ("FSC-A > 3", "character 4", "`FSC-A`"),
        ("CD3 = 3", "character 5", "=="),
        ("CD3 > 1 & gate", "character 9", "word and"),
        ("CD3 > 1 gate", "character 9", "'and', 'or'"),
        ("sample_id == 'bob'", "character 14", "bob's"),
        ("sample_id == 1", "character 14", '"1"'),
        ("sample_id < 'ann'", "character 1", "!="),
        ("CD3 == 'ann'", "character 8", "quotes"),
        ("CD3", "character 1", "not true or false"),
        ("3 > 2", "character 1", "name a variable"),
        ("when > 2", "character 1", "neither"),
        ("when > '2000-02-01'", "character 1", ".sel in xarray"),
        ("batch == sample_id", "character 1", "a text"),
        ("7AAD > 2", "character 1", "`7-AAD`"),
        ("CD3 in [1, gate]", "character 12", "a list"),
        ("CD3 in []", "at its end", "empty"),
        ("(CD3 > 1", "at its end", ")"),
        ("(CD3 > 1) > 2", "character 11", "parentheses"),
        ("sample_id == 'ann", "character 14", "quote"),
        ("CD3 > 1e999", "character 7", "large"),
        ("__import__('os')", "character 11", "'and'"),
        ("(lambda: 1)()", "character 8", "`FSC-A`"),
        ("CD3 > 1 AND CD3 < 2", "character 9", "word and"),
        ("(CD3 > 1 Or gate)", "character 10", "word or"),
        ("sample_id NOT IN ['ann']", "character 11", "word not"),
        ("NOT gate", "character 5", "word not"),
        ("NOT (gate)", "character 5", "word not"),
        ("CD3 <> 1", "character 5", "!="),
        ("CD3 IS NULL", "character 5", "not CD3 == CD3"),
        ("`FSC-A` is not null", "character 9", "not `FSC-A` == `FSC-A`"),
        ("CD3 == NULL", "character 8", "not CD3 == CD3"),
        ("sample_id != sample_id", "character 1", "a text"),
    ],
)
def test_mistake__is_named_with_its_place(text: str, place: str, hint: str) -> None:
    with pytest.raises(ConditionError) as raised:
        condition_on(text, [COLUMNS])
    assert place in str(raised.value)
    assert hint in str(raised.value)


@pytest.mark.parametrize("name", ["CD3", "sample_id", "batch"])
def test_missing_values__are_those_that_are_not_themselves(name: str) -> None:
    present = [entry is not None for entry in NAMES.get(name, [None] * ROWS)]
    if name == "CD3":
        present = (~np.isnan(NUMBERS)).tolist()
    assert 0 < sum(present) < ROWS
    assert meeting(f"{name} == {name}").tolist() == present
    assert meeting(f"not {name} == {name}").tolist() == [not entry for entry in present]


def test_nesting_and_length__are_limited() -> None:
    parse_condition("(" * MOST_DEPTH + "CD3 > 1" + ")" * MOST_DEPTH)
    with pytest.raises(ConditionError, match=str(MOST_DEPTH)):
        parse_condition("(" * (MOST_DEPTH + 1) + "CD3 > 1")
    with pytest.raises(ConditionError, match=str(MOST_DEPTH)):
        parse_condition("not " * (MOST_DEPTH + 1) + "gate")
    with pytest.raises(ParameterError, match="characters"):
        parse_condition("CD3 > 1" + " " * MOST_CHARACTERS)


def test_category__may_be_that_of_another_data_set() -> None:
    other = {**COLUMNS, "sample_id": ConditionColumn("names", ("eve",))}
    first, second = condition_on("sample_id == 'eve'", [COLUMNS, other])
    codes = {"sample_id": np.array([0, -1])}
    assert first.evaluate(codes).tolist() == [False, False]
    assert second.evaluate(codes).tolist() == [True, False]


def test_numbered_categories__are_numbers_or_names() -> None:
    columns = {"leiden": column_of(np.dtype("int8"), ["0", "1", "2"])}
    codes = {"leiden": np.array([0, 1, 2, -1], np.int8)}
    for text in (
        "leiden == 1",
        "leiden == '1'",
        "leiden in ['1']",
        "not leiden != '1' and '1' == leiden",
    ):
        (condition,) = condition_on(text, [columns])
        assert condition.evaluate(codes).tolist() == [False, True, False, False]
    (condition,) = condition_on("leiden != '1'", [columns])
    assert condition.evaluate(codes).tolist() == [True, False, True, False]
    with pytest.raises(ConditionError, match="no category"):
        condition_on("leiden == '10'", [columns])
    with pytest.raises(ConditionError, match="quotes"):
        condition_on("leiden == '1' or leiden > 1", [columns])
    with pytest.raises(ConditionError, match="without quotes"):
        condition_on("leiden < '1'", [columns])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("leiden < 1", [True, False, False, False]),
        ("1 >= leiden", [True, True, False, False]),
        ("-1 == leiden", [False, False, False, False]),
        ("leiden != 1", [True, False, True, False]),
        ("leiden in [-1, 2]", [False, False, True, False]),
        ("leiden not in [1]", [True, False, True, False]),
        ("leiden < CD3", [True, True, False, False]),
        ("CD3 != leiden", [True, True, False, False]),
        ("not leiden < 1", [False, True, True, True]),
    ],
)
def test_numbered_categories__of_a_missing_row_are_no_number(text: str, rows: list[bool]) -> None:
    columns = {
        "leiden": column_of(np.dtype("int8"), ["0", "1", "2"]),
        "CD3": ConditionColumn("numbers"),
    }
    (condition,) = condition_on(text, [columns])
    codes = np.array([0, 1, 2, -1], np.int8)
    values = {"leiden": codes, "CD3": np.full(4, 2, np.float32)}
    assert condition.evaluate(values).tolist() == rows
    assert codes.tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("gate == True", VALUES["gate"]),
        ("gate != True", ~VALUES["gate"]),
        ("gate == False", ~VALUES["gate"]),
        ("gate in [True]", VALUES["gate"]),
        ("not (gate == True)", ~VALUES["gate"]),
    ],
)
def test_words_of_truth__are_values_of_flags(text: str, met: NDArray[np.bool_]) -> None:
    np.testing.assert_array_equal(meeting(text), met)


@pytest.mark.parametrize(
    ("text", "hint"), [("batch == True", '"True"'), ("CD3 == False", "compare it with a number")]
)
def test_words_of_truth__are_no_names_and_no_numbers(text: str, hint: str) -> None:
    with pytest.raises(ConditionError, match=hint):
        condition_on(text, [COLUMNS])


@pytest.mark.parametrize(
    ("text", "hint", "absent"),
    [
        ("height == nan", "not height == height", "CD3"),
        ("CD3 > 1 and null != `my height`", "not `my height` == `my height`", "CD3 == CD3"),
        ("height is not NaN", "not height == height", "CD3"),
        ("CD3 IS 3", "==", "missing"),
        ("CD3 is not 3", "!=", "missing"),
        ("gate == TRUE", "write True", "quotes"),
    ],
)
def test_words_of_other_languages__are_answered_for_the_variable(
    text: str, hint: str, absent: str
) -> None:
    numbers = ConditionColumn("numbers")
    columns = {"CD3": numbers, "height": numbers, "my height": numbers}
    with pytest.raises(ConditionError) as caught:
        condition_on(text, [columns | {"gate": ConditionColumn("flags")}])
    reason = str(caught.value).split(": ", 1)[1]
    assert hint in reason
    assert absent not in reason
