"""Errors: messages as they were given, never without end, the same on every process."""

import copy
import errno
import io
import pickle
from types import TracebackType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tblib.pickling_support import pickle_exception, pickle_traceback

from bigtensor import GaussianMixture, errors
from bigtensor.errors import (
    MOST_CHARACTERS,
    BigtensorError,
    Message,
    OutputError,
    Setting,
    StoreReadError,
    message_of,
)
from tests.parameters import few_examples

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, BigtensorError)
]
WARNINGS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.BigtensorWarning)
]
PROPERTIES = ("args", "errno", "strerror", "filename", "filename2", "name", "path")
ARGUMENTS = st.one_of(
    st.tuples(st.text()),
    st.lists(st.one_of(st.text(), st.integers(), st.none()), max_size=5).map(tuple),
    st.tuples(st.sampled_from([errno.ENOSPC, errno.EACCES]), st.text(), st.text()),
)


def carried(error: BaseException, *, with_traceback: bool) -> Any:
    """Return an error as another process gets it: from pickle alone, or from tblib as in Dask."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    kinds = {type(error), type(error.__cause__)} - {type(None)} if with_traceback else set()
    pickler.dispatch_table = dict.fromkeys(kinds, pickle_exception)  # type: ignore[misc]
    if with_traceback:
        pickler.dispatch_table[TracebackType] = pickle_traceback  # type: ignore[index]
    pickler.dump(error)
    return pickle.loads(file.getvalue())


@pytest.mark.parametrize("with_traceback", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, *WARNINGS])
@settings(max_examples=few_examples())
@given(arguments=ARGUMENTS, cause=st.sampled_from([None, KeyError("x"), StoreReadError("torn")]))
def test_error__is_the_same_on_another_process(kind, with_traceback, arguments, cause) -> None:
    with pytest.raises(kind) as raised:
        raise kind(*arguments) from cause
    error = raised.value
    error.where = "worker 3"
    found = carried(error, with_traceback=with_traceback)
    assert type(found) is kind
    assert str(found) == str(error)
    assert found.where == "worker 3"
    for name in PROPERTIES:
        assert getattr(found, name, None) == getattr(error, name, None)
    if with_traceback:
        assert repr(found.__cause__) == repr(cause)
        assert found.__traceback__ is not None


SETTINGS = st.builds(
    lambda name, values, within: Setting(name, *values, within=within),
    st.text(),
    st.lists(st.one_of(st.text(), st.integers(), st.booleans(), st.none()), max_size=3),
    st.one_of(st.none(), st.text()),
)
MESSAGES = st.lists(st.one_of(st.text(), SETTINGS), max_size=5).map(lambda parts: Message(*parts))


def named(message: Message) -> list[Any]:
    """Return the names, values and places of the settings of a message."""
    settings = [part for part in message.parts if isinstance(part, Setting)]
    return [(setting.name, setting.values, setting.within) for setting in settings]


@pytest.mark.parametrize("with_traceback", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, *WARNINGS])
@settings(max_examples=few_examples())
@given(message=MESSAGES)
def test_error__names_its_parameters_on_another_process(kind, with_traceback, message) -> None:
    with pytest.raises(kind) as raised:
        raise kind(message)
    found = carried(raised.value, with_traceback=with_traceback)
    assert str(found) == str(raised.value)
    assert message_of(found) == message
    assert named(message_of(found)) == named(message)


@given(message=MESSAGES, setting=SETTINGS, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_message__is_carried_whole(message, setting, protocol) -> None:
    for text in (message, setting):
        for found in (pickle.loads(pickle.dumps(text, protocol)), copy.deepcopy(text)):
            assert (type(found), found, found.parts) == (type(text), text, text.parts)
            assert named(found) == named(text)


@given(parts=st.lists(st.one_of(st.text(), SETTINGS, MESSAGES), max_size=5), between=MESSAGES)
def test_message__keeps_settings_when_text_is_added(parts, between) -> None:
    added = Message()
    for part in parts:
        added = added + part
    settings = [entry for part in parts for entry in named(Message(part))]
    assert added == "".join(parts)
    assert named(added) == named("" + added) == settings
    joined = between.join(parts)
    assert joined == str(between).join(parts)
    assert len(named(joined)) == len(settings) + max(0, len(parts) - 1) * len(named(between))


def test_setting__is_written_for_python() -> None:
    written = [Setting("k"), Setting("k", "a"), Setting("k", "a", "b"), Setting("k", np.int64(3))]
    assert [str(setting) for setting in written] == ["k", "k='a'", "k='a' or 'b'", "k=3"]
    assert Setting("k", np.str_("a"), None, True) == "k='a' or None or True"
    assert Setting("k", 2, within="o=Options") == "o=Options(k=2)"
    assert Setting("k", within="o=Options") == "k in o=Options(...)"


def test_message__takes_braces_and_percent_signs_of_names_as_they_are() -> None:
    message = f"{'{0}%s{missing}.csv'}: use " + Setting("missing", "omit")
    assert str(OutputError(message)) == "{0}%s{missing}.csv: use missing='omit'"
    told = OutputError(message).message.written(lambda setting: f"<{setting.name}>")
    assert told == "{0}%s{missing}.csv: use <missing>"


@pytest.mark.parametrize("kind", KINDS)
def test_message__is_as_given(kind) -> None:
    assert str(kind("x was received; give y")) == "x was received; give y"


@pytest.mark.parametrize("kind", KINDS)
def test_long_message__keeps_its_beginning_and_its_remedy(kind) -> None:
    message = str(kind(f"the array {'x' * 50_000!r} cannot be read; restore the store"))
    assert len(message) < MOST_CHARACTERS + 50
    assert message.startswith("the array 'xxx")
    assert message.endswith("xxx' cannot be read; restore the store")
    assert " [47,046 characters left out] " in message


def test_error_of_the_system__says_what_the_system_said() -> None:
    assert "No space left" in str(OutputError(errno.ENOSPC, "No space left"))
    assert "No space left" in str(StoreReadError(errno.ENOSPC, "No space left"))


def test_warnings__name_the_line_that_called_the_package(tmp_path) -> None:
    rows = np.random.default_rng(0).normal(size=(500, 3))
    rows[:250, :2] += 8
    rows[:, 2] = 1
    with pytest.warns(errors.ConstantFeatureWarning) as of_fit:
        model = GaussianMixture(2, missing="omit", random_state=0).fit(rows)
    rows[3, 0] = np.nan
    with pytest.warns(errors.MissingValueWarning) as of_predict:
        model.predict(rows)
    with pytest.warns(errors.MissingValueWarning) as of_write:
        model.write(rows, tmp_path / "answers.zarr")
    assert {warning.filename for warning in (*of_fit, *of_predict, *of_write)} == {__file__}
