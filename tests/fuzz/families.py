"""Models of every family on small data, saved at every stage of a fit, and read again."""

from __future__ import annotations

import copy
import random
from functools import cache, partial
from pathlib import Path
from typing import Any

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.engine.checkpoint import PassCheckpoint
from bigtensor.models.contract.model_files import load_model
from bigtensor.models.contract.statistics_file import read_statistics
from bigtensor.testing import ModelCase, small_data
from tests.fuzz.steps import new_entry, show
from tests.laws import test_every_model

ANSWERED_ROWS = 20

PAIRS = {"t": ["first", "second"], "b": ["third"], "c": ["fourth"]}

NAMES = {f"{name}-{kind}": (name, kind) for name, kind in test_every_model.CASES}
"""Every model with every kind of its data, by the name of its inputs."""

MULTIVARIATE = "KernelMixture-multivariate"
"""A model whose densities keep landmarks and rows of the pilot sample."""


@cache
def case_of(name: str) -> ModelCase:
    """Return a small model and its data."""
    if name == MULTIVARIATE:
        make = partial(
            KernelMixture,
            2,
            views=PAIRS,
            merging=None,
            spectral=SpectralOptions(n_landmarks=30),
            random_state=0,
        )
        return ModelCase(make, small_data("measured"))
    return test_every_model.small_case(*NAMES[name])


def _named(path: Path) -> ModelCase:
    """Return the case that an input belongs to, whose entry is named after it."""
    return case_of(path.name.rpartition("\n")[2].partition(".")[0])


def _entries(folder: Path, ending: str) -> dict[Path, ModelCase]:
    """Return the paths of inputs of all cases."""
    names = (*NAMES, MULTIVARIATE)
    return {new_entry(folder, name, f"{name}.{ending}"): case_of(name) for name in names}


def _prepared(case: ModelCase) -> Any:
    """Return a model that is prepared."""
    return case.make().prepare(case.data, scheduler="threads")


prepared = cache(_prepared)
"""One prepared model a case, which solves statistics."""


def _answers(model: Any, case: ModelCase) -> dict[str, Any]:
    """Return the answers for a few rows, or nothing where a model needs more rounds."""
    fitted = model.__sklearn_is_fitted__()
    return case.answers_of(model, case.data[:ANSWERED_ROWS]) if fitted else {}


def make_models(folder: Path) -> None:
    """Save fitted models."""
    for path, case in _entries(folder, "zarr").items():
        case.make().fit(case.data, scheduler="threads").save(path)


def read_model(path: Path, chance: random.Random) -> Any:
    """Load a model and let it answer for a few rows."""
    show(path)
    return _answers(load_model(path), _named(path))


def make_prepared(folder: Path) -> None:
    """Save models that are prepared for rounds of statistics."""
    for path, case in _entries(folder, "zarr").items():
        _prepared(case).save(path)


def read_prepared(path: Path, chance: random.Random) -> Any:
    """Load a prepared model and sum statistics of the next pass with it."""
    show(path)
    case = _named(path)
    sums = load_model(path, fitted=False).accumulate(case.data, scheduler="threads")
    return {"state": dict(sums.state)}


def make_statistics(folder: Path) -> None:
    """Save the sums of one pass."""
    for path, case in _entries(folder, "zarr").items():
        _prepared(case).accumulate(case.data, scheduler="threads").save(path)


def read_sums(path: Path, chance: random.Random) -> Any:
    """Read statistics and solve them with the model that they belong to."""
    show(path)
    case = _named(path)
    statistics = read_statistics(path)
    solved = copy.deepcopy(prepared(case)).solve(statistics)
    held = {"parts": [vars(part) for part in statistics.parts], "state": dict(statistics.state)}
    return held | _answers(solved, case)


def make_checkpoints(folder: Path) -> None:
    """Write checkpoints of fits, in which every second pass has a part and no sum yet."""
    for path, case in _entries(folder, "parts").items():
        case.make().fit(case.data, scheduler="threads", checkpoint=path)
        for name in sorted(path.iterdir())[::2]:
            stored = PassCheckpoint(str(name))
            state = stored.load(None)
            assert state is not None
            stored.store((0, case.rows), state)
            (name / "sum.state").unlink()


def read_checkpoint(path: Path, chance: random.Random) -> Any:
    """Continue a fit."""
    case = _named(path)
    return _answers(case.make().fit(case.data, scheduler="threads", checkpoint=path), case)
