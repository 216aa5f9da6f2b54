"""Print false positives and power: ``python -m tests.benchmarks.abundance``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from tests.benchmarks.abundance.methods import P, by_bigtensor, by_peers, by_regression, has_edger
from tests.benchmarks.abundance.studies import CHANGED, Setting, drawn_study
from tests.benchmarks.tables import Report, Row

LEVEL = 0.05

SETTINGS = (
    Setting("3 + 3", (0,) * 3 + (1,) * 3),
    Setting("6 + 6", (0,) * 6 + (1,) * 6),
    Setting("12, number", tuple(np.linspace(-1, 1, 12).tolist())),
    Setting("3 + 3, deviation .1", (0,) * 3 + (1,) * 3, deviation=0.1),
    Setting("6 + 6, deviation .8", (0,) * 6 + (1,) * 6, deviation=0.8),
    Setting("6 + 6, 20,000 cells or more", (0,) * 6 + (1,) * 6, least_cells=20_000),
    Setting("3 + 3, Dirichlet 300", (0,) * 3 + (1,) * 3, concentration=300.0),
    Setting("6 + 6, Dirichlet 300", (0,) * 6 + (1,) * 6, concentration=300.0),
)


def p_values(
    setting: Setting, studies: int, seed: int, *, peers: bool, mixed: bool
) -> dict[str, P]:
    """Return the p values (studies, populations) of every method in the same studies."""
    rng = np.random.default_rng(seed)
    drawn = [drawn_study(setting, rng) for _ in range(studies)]
    methods = {
        "bigtensor": by_bigtensor(setting, drawn),
        "regression of logits": by_regression(setting, drawn),
    }
    return methods | (by_peers(setting, drawn, mixed=mixed) if peers else {})


def with_false_discovery(values: P) -> NDArray[np.bool_]:
    """Return True for studies without an effect that call a population at a rate of 5 %."""
    tested = (one[np.isfinite(one)] for one in values)
    return np.array([false_discovery_control(one).min() < LEVEL for one in tested])


def rows_of(setting: Setting, null: dict[str, P], changed: dict[str, P]) -> list[Row]:
    """Return false positives and power of every method.

    Parameters
    ----------
    setting : Setting
    null, changed : dict of str to (studies, populations) float64 array
        P values without and with an effect, by method.
    """
    populations = list(CHANGED)
    rows: list[Row] = []
    for method, values in null.items():
        called = np.nan_to_num(values, nan=1.0) < LEVEL
        rates = called.mean(axis=1)
        with_effect = np.nan_to_num(changed[method][:, populations], nan=1.0)
        # the threshold that lets so many false positives through, so that powers compare
        threshold = np.nanquantile(values, LEVEL)
        rows.append(
            {
                "samples": setting.name,
                "method": method,
                "false positives": called.mean(),
                "error": rates.std() / np.sqrt(len(rates)),
                "rarest": called[:, -2:].mean(),
                "studies with a false discovery": with_false_discovery(values).mean(),
                "power": (with_effect < LEVEL).mean(),
                "power at 5 %": (with_effect <= threshold).mean(),
                "rare": (with_effect[:, -1] <= threshold).mean(),
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--effect", type=float, default=0.7, help="change of log odds")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of settings, from 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-peers", action="store_true", help="without edgeR and lme4")
    parser.add_argument("--no-mixed", action="store_true", help="without lme4, which is slow")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    peers = not options.no_peers and has_edger()
    report = Report("abundance", vars(options), options.out)
    notes = [] if peers else ["edgeR and lme4 were not run: Rscript or one of them is missing"]
    numbers = range(len(SETTINGS)) if options.only is None else options.only
    for setting in (SETTINGS[number] for number in numbers):
        null, changed = (
            p_values(
                replace(setting, effect=effect),
                options.studies,
                options.seed + place,
                peers=peers,
                mixed=not options.no_mixed,
            )
            for place, effect in enumerate((0.0, options.effect))
        )
        report.add(f"Tests at 5 %: {setting.name}", rows_of(setting, null, changed), notes)


if __name__ == "__main__":
    main()
