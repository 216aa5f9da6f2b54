"""Random damage for a short while, and a harness that sees everything it has to see."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from bigtensor.errors import DataError
from tests.fuzz import inputs
from tests.fuzz.__main__ import main
from tests.fuzz.cases import BAD, FINE, Case, Inputs, Kind
from tests.fuzz.kinds import KINDS
from tests.fuzz.mutations import Subject, mutate
from tests.fuzz.processes import Limits, run_cases

# models are fitted to small data, which need not show what a model looks for
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")


FITTED = ("model", "prepared", "statistics", "checkpoint")
"""Kinds whose inputs are fits of all models, which take up to half a minute."""


@pytest.mark.parametrize(
    ("kinds", "cases", "processes"),
    [
        ([random.choice([kind for kind in KINDS if kind not in FITTED])], 4, 1),
        pytest.param(random.sample(list(KINDS), len(KINDS)), 8, 2, marks=pytest.mark.slow),
    ],
    ids=["a kind without a fit", "all kinds"],
)
def test_damaged_input__ends_in_one_clear_error_or_the_right_values(
    capsys, kinds: list[str], cases: int, processes: int
) -> None:
    seed = random.randrange(10**6)
    numbers = ["--cases", str(cases), "--processes", str(processes), "--minutes", "1.5"]
    code = main(["--seed", str(seed), *numbers, "--only", *kinds])
    output = capsys.readouterr().out
    print(output)
    assert f"seed {seed}" in output
    assert all(kind in output for kind in kinds)
    assert code == 0, output


def make(folder: Path) -> None:
    (folder / "only").mkdir()
    (folder / "only" / "input.txt").write_text("1 2 3")


def is_whole(path: Path) -> bool:
    return "whole" in path.parts


def raw(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        raise KeyError("someone else's")


class EndlessError(DataError):
    __str__ = Exception.__str__


def endless(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        raise EndlessError("x" * 100_000)


def hang(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        time.sleep(60)


def greedy(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        return len(bytearray(3 * 2**30))
    return 0


def greedy_in_words(path: Path, chance: random.Random) -> Any:
    try:
        return greedy(path, chance)
    except MemoryError as error:
        raise DataError("the file is damaged") from error


def greedy_but_frank(path: Path, chance: random.Random) -> Any:
    try:
        return greedy(path, chance)
    except MemoryError as error:
        raise DataError("the file asks for too much memory") from error


def crash(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        os.kill(os.getpid(), signal.SIGSEGV)


def wrong(path: Path, chance: random.Random) -> Any:
    return {"value": 3.0 if is_whole(path) else 4.0}


def right(path: Path, chance: random.Random) -> Any:
    return {"value": 3.0}


def refused(path: Path, chance: random.Random) -> Any:
    if not is_whole(path):
        raise DataError(f"{path} is damaged")


EXPECTED = {
    "raw": raw,
    "long": endless,
    "hang": hang,
    "memory": greedy,
    "memory-in-words": greedy_in_words,
    "refused-memory": greedy_but_frank,
    "crash": crash,
    "wrong": wrong,
    "result": right,
    "refused": refused,
}


@pytest.mark.slow
def test_harness__sees_every_way_to_misbehave(tmp_path) -> None:
    kinds = {name: Kind(name, make, read, checked=True) for name, read in EXPECTED.items()}
    assert {name.split("-")[0] for name in kinds} == {*FINE, *BAD}
    made = Inputs(tmp_path / "inputs", kinds)
    made.folder.mkdir()
    for name in kinds:
        made.make(name)
    # a process goes on after what it survives, and another one after what it does not
    cases = [Case(0, name, number) for number in range(2) for name in kinds]
    outcomes = list(run_cases(cases, made, tmp_path / "cases", Limits(seconds=1.0)))
    found = {outcome.case: outcome.verdict for outcome in outcomes}
    assert found == {case: case.kind.split("-")[0] for case in cases}
    assert all(outcome.damage for outcome in outcomes)


@pytest.mark.slow
def test_bad_case__is_printed_with_the_command_that_repeats_it(capsys, monkeypatch) -> None:
    monkeypatch.setitem(KINDS, "views", Kind("views", inputs.make_views, raw))
    assert main(["--seed", "5", "--only", "views", "--cases", "2"]) == 1
    output = capsys.readouterr().out
    assert "--seed 5 --only views --case 1" in output
    assert 'KeyError: "someone else\'s"' in output
    assert "2 bad" in output


@pytest.mark.parametrize("kind", ["fcs", "views"])
def test_case__has_the_same_damage_again(kind, tmp_path) -> None:
    KINDS[kind].make(tmp_path)
    subjects = [Subject.read(folder) for folder in sorted(tmp_path.iterdir())]

    def damaged(number: int) -> tuple[Subject, str]:
        chance = Case(3, kind, number).chance()
        return mutate(chance.choice(subjects), chance, KINDS[kind].edits)

    again = [damaged(number) for number in range(50)]
    assert again == [damaged(number) for number in range(50)]
    changed = [found.files not in [subject.files for subject in subjects] for found, _ in again]
    assert sum(changed) > 40


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_inputs__have_the_same_bytes_again(kind, tmp_path) -> None:
    found = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        KINDS[kind].make(tmp_path / name)
        found.append([Subject.read(folder) for folder in sorted((tmp_path / name).iterdir())])
    assert found[0] == found[1]
