"""Seconds of a fit and of answers along a sequence, beside those of hmmlearn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import xarray as xr

from bigtensor import HiddenMarkovModel, simulate
from bigtensor.errors import ConditioningWarning
from tests.benchmarks.tables import Report, Row, bars

STATES, SYMBOLS = 8, 20

LEAST_RATIO = 20.0
"""Bound on the time of hmmlearn for a fit and a best path, divided by ours."""

HMMLEARN_TOLERANCE, HMMLEARN_ITERATIONS = 1e-4, 100


def add_times(report: Report, rows: int = 1_000_000, iterations: int = HMMLEARN_ITERATIONS) -> None:
    """Print seconds and ratios on one sequence.

    Parameters
    ----------
    report : Report
    rows : int
        Steps of the sequence.
    iterations : int
        Most EM iterations of hmmlearn, from one random start.
    """
    data = simulate.hidden_markov(rows, STATES, SYMBOLS, stay=0.5, random_state=0)
    small = data.isel(sample=slice(0, 3000))
    # loops are compiled once
    _ours(small)
    made = {"triples": _ours(data, refine="triples"), "sequences": _ours(data, refine="sequences")}
    peer = _hmmlearn(data, iterations)
    found = [_row(name, rows, taken, peer) for name, taken in made.items()]
    for name, taken in {"hmmlearn": peer, "dynamax": _dynamax(data, iterations)}.items():
        if taken:
            found.append({"fit": name, "steps": rows, **taken})
    report.add(
        f"Seconds of one sequence, {STATES} states, {SYMBOLS} symbols",
        found,
        ["ratio: fit and path of hmmlearn, one random start, divided by ours"],
    )


def _row(name: str, rows: int, taken: dict[str, float], peer: dict[str, float]) -> Row:
    """Return the seconds of one of our fits, with the ratio to the peer."""
    row = {"fit": name, "steps": rows, **taken}
    if not peer:
        return row
    ratio = (peer["fit s"] + peer["path s"]) / (taken["fit s"] + taken["path s"])
    return {**row, "ratio": ratio, **bars({f"ratio >= {LEAST_RATIO:g}": ratio >= LEAST_RATIO})}


def _ours(data: xr.Dataset, **options: Any) -> dict[str, float]:
    """Return seconds of a fit and of its answers, and the mean log-likelihood of a step."""
    model = HiddenMarkovModel(STATES, random_state=0, **options)
    with warnings.catch_warnings():
        # a short sequence compiles the loops, and serves the tests
        warnings.simplefilter("ignore", ConditioningWarning)
        seconds = _seconds(lambda: model.fit(data, scheduler="threads", workers=1))
    return {
        "fit s": seconds,
        "path s": _seconds(lambda: model.predict(data)),
        "probabilities s": _seconds(lambda: model.predict_proba(data)),
        "log-likelihood": model.score(data),
    }


def _hmmlearn(data: xr.Dataset, iterations: int) -> dict[str, float]:
    """Return the same of hmmlearn; nothing where it is not installed."""
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        return {}
    codes = data["X"].to_numpy().astype(int)
    peer = CategoricalHMM(
        STATES,
        n_features=SYMBOLS,
        n_iter=iterations,
        tol=HMMLEARN_TOLERANCE,
        random_state=0,
    )
    return {
        "fit s": _seconds(lambda: peer.fit(codes)),
        "path s": _seconds(lambda: peer.decode(codes)),
        "probabilities s": _seconds(lambda: peer.predict_proba(codes)),
        "log-likelihood": peer.score(codes) / len(codes),
        "iterations": peer.monitor_.iter,
    }


def _dynamax(data: xr.Dataset, iterations: int) -> dict[str, float]:
    """Return the same of dynamax, without compilation; nothing where it is not installed."""
    try:
        import jax
        from dynamax.hidden_markov_model import CategoricalHMM
    except ImportError:
        return {}
    codes = jax.numpy.asarray(data["X"].to_numpy().astype("int32"))
    peer = CategoricalHMM(STATES, 1, SYMBOLS)
    start = peer.initialize(jax.random.PRNGKey(0))

    def fit(most: int) -> Any:
        return jax.block_until_ready(peer.fit_em(*start, codes, num_iters=most, verbose=False))

    # the first call compiles
    parameters, likelihoods = fit(1)
    taken = {"fit s": _seconds(lambda: fit(iterations))}
    parameters, likelihoods = fit(iterations)
    for name, answer in {
        "path s": peer.most_likely_states,
        "probabilities s": peer.smoother,
    }.items():
        jax.block_until_ready(answer(parameters, codes))
        taken[name] = _seconds(lambda call=answer: jax.block_until_ready(call(parameters, codes)))
    taken["log-likelihood"] = float(likelihoods[-1]) / len(codes)
    return taken | {"iterations": iterations}


def _seconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start
