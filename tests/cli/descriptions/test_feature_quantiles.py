"""Quantiles in info: those of the rows, with what is missing."""

import numpy as np
import pytest

from bigtensor.cli.descriptions.feature_quantiles import LEVELS, feature_quantiles, quantile_lines
from bigtensor.data.opening import open_samples


@pytest.mark.parametrize("rows", [1, 1024, 3000, 100_000])
def test_quantiles__are_those_of_all_rows_within_sampling(rows):
    values = np.random.default_rng(0).normal(size=(rows, 2)) * [1, 100]
    found = feature_quantiles(open_samples(values))
    assert found["rows"] == min(rows, 16 * 1024)
    for column, one in enumerate(found["features"].values()):
        expected = np.quantile(values[:, column], LEVELS)
        scale = np.ptp(values[:, column])
        np.testing.assert_allclose(one["quantiles"], expected, atol=0.02 * scale + 1e-12)
        assert one["missing"] == 0


def test_quantiles__of_several_sources_see_each():
    parts = [np.full((5000, 1), value) for value in (0.0, 1.0, 2.0)]
    (one,) = feature_quantiles(open_samples(parts))["features"].values()
    assert one["quantiles"][0] == 0
    assert one["quantiles"][-1] == 2


def test_quantiles__leave_out_what_is_not_finite():
    values = np.array([[1.0, np.nan], [np.inf, np.nan], [3.0, np.nan], [2.0, np.nan]])
    found = feature_quantiles(open_samples(values))
    assert found["features"]["x0"]["quantiles"][2] == 2.0
    lines = list(quantile_lines(found))
    assert lines[2].endswith("25.00% missing")
    assert "no finite value" in lines[3]


def test_info__shows_them(run, cells):
    result = run("info", cells)
    assert result.exit_code == 0, result.stderr
    assert "quantiles  of 16,384 rows " in result.stdout
