"""One case: a valid input with random damage, and the verdict on what a user then sees."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import BigtensorError
from tests.fuzz.mutations import Edit, Subject, mutate

MOST_CHARACTERS = 4000
"""Length of an error message that a user can still read."""

FINE = ("result", "refused")
BAD = ("raw", "long", "wrong", "memory", "hang", "crash")

Read = Callable[[Path, random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes
    ----------
    name : str
    make : callable
        Writes valid inputs below a folder, each as the only entry of a folder of its own.
    read : callable
        Does with an input what a user would, and returns what it held.
    checked : bool
        Whether the input carries checksums, so that other values are never read silently.
    edits : tuple of callable
        Mutations that know the format, besides those of bytes and files.
    """

    name: str
    make: Callable[[Path], None]
    read: Read
    checked: bool = False
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Case:
    """The number of a mutation; the same one always damages the same input alike."""

    seed: int
    kind: str
    number: int

    def chance(self) -> random.Random:
        """Return the random numbers of this case."""
        return random.Random(f"{self.seed} {self.kind} {self.number}")

    def command(self) -> str:
        """Return the command that runs this case alone."""
        return f"python -m tests.fuzz --seed {self.seed} --only {self.kind} --case {self.number}"


@dataclass(frozen=True)
class Outcome:
    """What a case came to.

    Attributes
    ----------
    case : Case
    verdict : str
        One of `FINE` or `BAD`.
    damage : str
        What was done to the input.
    detail : str
        The error with its traceback, or how the process ended.
    """

    case: Case
    verdict: str
    damage: str = ""
    detail: str = ""


class Inputs:
    """The valid inputs of all kinds below a folder, and what they hold.

    Parameters
    ----------
    folder : Path
    kinds : dict of str to Kind
    """

    def __init__(self, folder: Path, kinds: dict[str, Kind]) -> None:
        self.folder = folder
        self.kinds = kinds
        self._subjects: dict[str, list[Subject]] = {}
        self._expected: dict[tuple[str, str], str] = {}

    def make(self, name: str) -> None:
        """Write the inputs of a kind."""
        folder = self.folder / name
        folder.mkdir()
        self.kinds[name].make(folder)

    def subjects(self, name: str) -> list[Subject]:
        """Return the inputs of a kind."""
        if name not in self._subjects:
            folders = sorted((self.folder / name).iterdir())
            self._subjects[name] = [Subject.read(folder) for folder in folders]
        return self._subjects[name]

    def whole(self, case: Case) -> Subject:
        """Return the input that a case damages."""
        return case.chance().choice(self.subjects(case.kind))

    def prepare(self, case: Case, scratch: Path) -> None:
        """Read the undamaged input of a case once: what follows is not slowed by imports."""
        subject = self.whole(case)
        if (case.kind, subject.name) in self._expected:
            return
        path = subject.write(scratch / f"{case.kind} {subject.name}")
        value = self.kinds[case.kind].read(path, random.Random(0))
        self._expected[case.kind, subject.name] = content_key(value)

    def run(self, case: Case, scratch: Path, begin: Callable[[str], None]) -> Outcome:
        """Damage an input and read it.

        Parameters
        ----------
        case : Case
        scratch : Path
            An empty folder.
        begin : callable
            Called with the damage before the input is read.
        """
        kind = self.kinds[case.kind]
        chance = case.chance()
        whole = chance.choice(self.subjects(case.kind))
        damaged, damage = mutate(whole, chance, kind.edits)
        path = damaged.write(scratch)
        begin(damage)
        try:
            value = kind.read(path, chance)
        except Exception as error:
            return Outcome(case, _verdict(error), damage, traceback.format_exc())
        if kind.checked and content_key(value) != self._expected[case.kind, whole.name]:
            return Outcome(case, "wrong", damage, "other values were read, without an error")
        return Outcome(case, "result", damage)


def _verdict(error: BaseException) -> str:
    """Judge an error that a user sees."""
    own = isinstance(error, BigtensorError)
    # a reader may refuse what asks for too much, if it says so
    said = own and "too much memory" in str(error)
    cause: BaseException | None = error
    while cause is not None:
        # a plan that does not fit is a MemoryError too, raised before anything is made
        if isinstance(cause, MemoryError) and not isinstance(cause, BigtensorError) and not said:
            return "memory"
        cause = cause.__cause__ or cause.__context__
    if not own:
        return "raw"
    return "refused" if len(str(error)) <= MOST_CHARACTERS else "long"
