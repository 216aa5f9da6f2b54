"""What every model has without a line of its own, on the small model and in numbers.

The public laws of models, which hold for every model, are in `bigtensor.testing`.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import bigtensor
from bigtensor.errors import (
    MissingValueError,
    MissingValueWarning,
    ModelFileError,
    PlanError,
    StatisticsError,
)
from bigtensor.models.contract.script import Estimate
from bigtensor.store import read_group
from tests.laws.small_model import Standardiser, refine


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal([3.0, -1.0, 100.0], [1.0, 2.0, 5.0], (70_000, 3))


@pytest.fixture(scope="module")
def model(rows) -> Standardiser:
    return Standardiser().fit(rows)


def test_fit__is_the_direct_formula(model, rows):
    assert_allclose(model.mean_, rows.mean(axis=0), rtol=1e-12)
    assert_allclose(model.solution_.spread, rows.std(axis=0), rtol=1e-12)
    found = model.transform(rows)
    assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    assert_allclose(found.std(axis=0), 1, rtol=1e-12)
    names = [entry["name"] for entry in model.diagnostics_["passes"]]
    assert names == ["origin", "means", "spreads"]


def test_weights_and_missing_rows__are_the_engines(rows):
    weight = np.random.default_rng(1).uniform(0, 2, len(rows))
    found = Standardiser().fit(rows, sample_weight=weight)
    assert_allclose(found.mean_, np.average(rows, axis=0, weights=weight), rtol=1e-12)
    gaps = rows.copy()
    gaps[5, 0] = np.nan
    with pytest.raises(MissingValueError, match="row 5"):
        Standardiser().fit(gaps)
    with pytest.warns(MissingValueWarning, match="1 of 70,000 rows"):
        found = Standardiser(missing="omit").fit(gaps)
    assert_allclose(found.mean_, np.delete(rows, 5, 0).mean(axis=0), rtol=1e-12)


def test_plan__is_made_of_the_passes(rows):
    plan = Standardiser().plan(rows, workers=1, scheduler="threads")
    assert [(size.name, size.times, size.rows) for size in plan.passes] == [
        ("origin", 1, 1),
        ("means", 1, 70_000),
        ("spreads", 1, 70_000),
    ]
    with pytest.raises(PlanError):
        Standardiser().fit(rows, memory_limit="32MiB")


def test_saved_model__of_a_class_outside_the_package_is_not_found_by_name(model, tmp_path):
    path = model.save(tmp_path / "model.zarr")
    with pytest.raises(ModelFileError, match=r"'Standardiser', which .* not know"):
        bigtensor.load(path)


def test_rounds__replay_the_script(model, rows, tmp_path):
    pilot = Standardiser().prepare(rows[:1])
    with pytest.raises(NotFittedError, match="is prepared"):
        pilot.transform(rows)
    path = pilot.save(tmp_path / "prepared.zarr")
    sites = [rows[:20_000], rows[20_000:]]
    current = Standardiser.from_contents(read_group(path))
    for name in ("means", "spreads"):
        parts = [Standardiser.from_contents(read_group(path)).accumulate(site) for site in sites]
        assert {part.pass_name for part in parts} == {name}
        current.solve(bigtensor.merge(parts))
        assert current.diagnostics_["spread"] is (name == "spreads")
        path = current.save(tmp_path / f"{name}.zarr")
    assert_allclose(current.mean_, model.mean_, rtol=1e-12)
    assert_allclose(current.solution_.spread, model.solution_.spread, rtol=1e-12)
    assert current.diagnostics_["rows"] == 70_000
    with pytest.raises(StatisticsError, match=r"had all its passes, .*'spreads'"):
        current.accumulate(rows)


def refine_without_estimates(preparation):
    script, result = refine(preparation), None
    while True:
        try:
            item = script.send(result)
        except StopIteration as end:
            return end.value
        result = None if isinstance(item, Estimate) else (yield item)


class WithoutEstimates(Standardiser):
    """The same model without a solution before its last pass."""

    steps = replace(Standardiser.steps, refine=refine_without_estimates)


def test_rounds__go_on_without_a_solution_until_there_is_one(model, rows, tmp_path):
    current = WithoutEstimates().prepare(rows[:1])
    current.solve(current.accumulate(rows))
    with pytest.raises(NotFittedError, match="is prepared"):
        current.transform(rows)
    path = current.save(tmp_path / "one.zarr")
    current = WithoutEstimates.from_contents(read_group(path))
    current.solve(current.accumulate(rows))
    assert_allclose(current.solution_.spread, model.solution_.spread, rtol=1e-12)


def test_partial_fit__is_what_one_pass_determines(rows):
    model = Standardiser()
    for part in np.array_split(rows, 3):
        model.partial_fit(part)
    assert_allclose(model.mean_, rows.mean(axis=0), rtol=1e-12)
    assert_array_equal(model.solution_.spread, np.ones(3))
    assert model.statistics_.rows == 70_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Standardiser" in model._repr_html_()
