"""Calibration of differential abundance, and power beside regression of logits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.abundance.__main__ import main, p_values, rows_of
from tests.benchmarks.abundance.methods import by_bigtensor
from tests.benchmarks.abundance.studies import Setting, drawn_study

THREE = Setting("3 + 3", (0,) * 3 + (1,) * 3)


@pytest.mark.slow  # many simulated studies
def test_differential_abundance__has_five_per_cent_false_positives():
    rng = np.random.default_rng(0)
    values = by_bigtensor(THREE, [drawn_study(THREE, rng) for _ in range(40)])
    rates = (values < 0.05).mean(axis=1)
    assert abs(rates.mean() - 0.05) < 3 * rates.std() / np.sqrt(len(rates))


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        THREE,
        Setting("6 + 6", (0,) * 6 + (1,) * 6, deviation=0.5, degrees=3),
        Setting("number", tuple(np.linspace(0, 1, 12).tolist()), least_cells=20_000),
        Setting("small deviation", (0,) * 4 + (1,) * 4, deviation=0.1),
    ],
    ids=lambda setting: setting.name,
)
def test_differential_abundance__is_calibrated(setting):
    rng = np.random.default_rng(1)
    values = by_bigtensor(setting, [drawn_study(setting, rng) for _ in range(150)])
    for level in (0.01, 0.05, 0.2):
        rates = (values < level).mean(axis=1)
        assert abs(rates.mean() - level) < 3 * rates.std() / np.sqrt(len(rates)), level


def test_benchmark__prints_every_method(capsys):
    rows = rows_of(THREE, *(p_values(THREE, 2, seed, peers=False, mixed=False) for seed in (0, 1)))
    assert [row["method"] for row in rows] == ["bigtensor", "regression of logits"]
    main(["--studies", "1", "--no-peers"])
    assert "12, number" in capsys.readouterr().out
