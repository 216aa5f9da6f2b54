import numpy as np
import pytest

from tests.benchmarks.rare_populations import (
    TYPES,
    Activation,
    classified,
    f1,
    refined_gate,
    refined_populations,
)


def test_f1__is_the_harmonic_mean():
    found, true = np.array([True, True, False, False]), np.array([True, False, True, True])
    assert f1(found, true) == pytest.approx(2 / (1 / 0.5 + 1 / (1 / 3)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_activated_cells__are_found_nearly_as_well_as_by_a_classifier(shared_data, tmp_path):
    cells = Activation.read(shared_data / "activation", tmp_path / "cells.zarr")
    bars = {name: 0.8 * classified(cells, name) for name in TYPES}
    rows = [refined_gate(cells, name) for name in TYPES] + [*refined_populations(cells, 0)]
    for row in rows:
        assert row["feature"] == "CD69"
        assert row["F1 in the gate"] > bars[row["type"]]
