"""P values of all populations of many studies, by several methods."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_weights import weights_of_counts
from tests.benchmarks.abundance.studies import Setting

P = NDArray[np.float64]


def by_bigtensor(setting: Setting, studies: Sequence[NDArray[np.int64]]) -> P:
    """Return the p values (studies, populations) of `differential_abundance`."""
    names = [f"s{place}" for place in range(len(setting.covariate))]
    samples = {"sample": names, "covariate": setting.covariate}
    return np.array(
        [
            differential_abundance(
                weights_of_counts(counts, names, [*map(str, range(counts.shape[1]))]),
                samples,
                "covariate",
            )["p_value"].to_numpy()
            for counts in studies
        ]
    )


def by_regression(setting: Setting, studies: Sequence[NDArray[np.int64]]) -> P:
    """Return the p values of a linear regression of logits of counts plus a half."""
    covariate = np.array(setting.covariate)
    return np.array(
        [
            [
                stats.linregress(covariate, np.log(column + 0.5) - np.log(rest + 0.5)).pvalue
                for column, rest in zip(
                    counts.T, (counts.sum(axis=1, keepdims=True) - counts).T, strict=True
                )
            ]
            for counts in studies
        ]
    )


def has_edger() -> bool:
    """Return True if R with edgeR and lme4 can be run."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    check = "stopifnot(requireNamespace('edgeR'), requireNamespace('lme4'))"
    return subprocess.run([rscript, "-e", check], capture_output=True, check=False).returncode == 0


def by_peers(
    setting: Setting, studies: Sequence[NDArray[np.int64]], *, mixed: bool = True
) -> dict[str, P]:
    """Return the p values of edgeR and, if asked for, of a binomial mixed model.

    Parameters
    ----------
    setting : Setting
    studies : sequence of (samples, populations) int64 array
    mixed : bool, default True
        Fit the mixed model too, which takes most of the time.
    """
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "studies.csv"), Path(name, "p.csv")
        with source.open("w", newline="") as file:
            lines = csv.writer(file)
            populations = range(studies[0].shape[1])
            lines.writerow(["study", "covariate", *(f"population{j}" for j in populations)])
            for number, counts in enumerate(studies):
                for value, row in zip(setting.covariate, counts, strict=True):
                    lines.writerow([number, value, *row])
        script = Path(__file__).with_name("peers.R")
        arguments = [str(source), str(target), "mixed" if mixed else "edger"]
        subprocess.run(["Rscript", str(script), *arguments], check=True)
        with target.open(newline="") as file:
            rows = list(csv.DictReader(file))
    names = {"edger": "edgeR", "edger_quasi": "edgeR, quasi-likelihood", "mixed": "mixed model"}
    shape = (len(studies), -1)
    return {
        words: np.array([_number(row[column]) for row in rows]).reshape(shape)
        for column, words in names.items()
        if column in rows[0]
    }


def _number(text: str) -> float:
    """Return a p value; a fit that failed has none."""
    return float("nan") if text == "NA" else float(text)
