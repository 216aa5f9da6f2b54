"""Messages of errors: as they were given, and never without end."""

import errno

import pytest

from bigtensor import errors
from bigtensor.errors import MOST_CHARACTERS, BigtensorError, OutputError, StoreReadError

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, BigtensorError)
]


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
