"""scikit-learn's own tests of `GaussianMixture` with the class swapped, as far as they are public.

``python -m tests.benchmarks.gaussian_mixture.scikit_learn_cases``

Parameters are renamed where they must be: ``init_params`` is ``init="kmeans"``, ``reg_covar`` is a
fraction of the variance here, and ``verbose`` has no counterpart. Left out are cases of the array
API and cases that call private functions or methods. In the second row, the texts of errors and
warnings are not compared, but their classes are.
"""

from __future__ import annotations

import argparse
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.mixture.tests import test_gaussian_mixture as cases

from bigtensor import GaussianMixture
from tests.benchmarks.tables import Report, Row

_PRIVATE = re.compile(
    r"\b_(compute|estimate|check|initialize|set_parameters|n_parameters|calculate|get)\w*|array_api"
)

_FIXTURES = {"global_dtype": np.float64, "global_random_seed": 42}


def swapped(
    n_components: int = 1,
    *,
    tol: float = 1e-3,
    reg_covar: float = 1e-6,
    max_iter: int = 100,
    n_init: int = 1,
    init_params: str = "kmeans",
    verbose: int = 0,
    **others: Any,
) -> GaussianMixture:
    """Return our class with the defaults of scikit-learn."""
    model = GaussianMixture(
        n_components,
        tol=tol,
        reg_covar=reg_covar,
        max_iter=max_iter,
        n_init=n_init,
        init="kmeans",
        **others,
    )
    vars(model)["init_params"] = init_params
    return model


@dataclass(frozen=True)
class Case:
    """A test with one choice of its parameters.

    Attributes
    ----------
    name
        Name and parameters.
    test
        The test.
    parameters
        Its arguments.
    """

    name: str
    test: Callable[..., None]
    parameters: dict[str, Any]


def public_cases() -> Iterator[Case]:
    """Yield the tests that use public names alone."""
    for name, test in inspect.getmembers(cases, inspect.isfunction):
        if not name.startswith("test_") or _PRIVATE.search(inspect.getsource(test)):
            continue
        choices = [
            [dict(zip(_names(mark), _values(mark, one), strict=True)) for one in mark.args[1]]
            for mark in getattr(test, "pytestmark", [])
            if mark.name == "parametrize"
        ]
        fixtures = {
            argument: value
            for argument, value in _FIXTURES.items()
            if argument in inspect.signature(test).parameters
        }
        for chosen in product(*choices):
            parameters = {key: value for one in chosen for key, value in one.items()}
            shown = ", ".join(map(str, parameters.values()))
            yield Case(f"{name}[{shown}]" if shown else name, test, {**fixtures, **parameters})


def _names(mark: pytest.Mark) -> list[str]:
    """Return the arguments that a mark sets."""
    names: str | Sequence[str] = mark.args[0]
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _values(mark: pytest.Mark, one: Any) -> tuple[Any, ...]:
    """Return the values of one choice."""
    return tuple(one) if len(_names(mark)) > 1 else (one,)


def outcome(case: Case, *, texts: bool) -> str:
    """Run a test, and return an empty text or the first line of its failure.

    Parameters
    ----------
    case
        The test.
    texts
        True to compare the texts of errors and warnings.
    """
    raises, warns = pytest.raises, pytest.warns

    def without_text(check: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*classes: Any, **options: Any) -> Any:
            return check(*classes, **{k: v for k, v in options.items() if k != "match"})

        return checked

    with (
        patch.object(cases, "GaussianMixture", swapped),
        patch.object(pytest, "raises", raises if texts else without_text(raises)),
        patch.object(pytest, "warns", warns if texts else without_text(warns)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            case.test(**case.parameters)
        except (Exception, pytest.fail.Exception) as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return f"{type(error).__name__}: {' '.join(lines)[:150]}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how many cases pass, and why the others do not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    report = Report("scikit_learn_cases", {}, chosen.out)
    every = list(public_cases())
    failed: dict[str, list[Row]] = {}
    passed: list[Row] = []
    for label, texts in (("as they are", True), ("without texts", False)):
        outcomes = {case.name: outcome(case, texts=texts) for case in every}
        failed[label] = [{"case": name, "why": why} for name, why in outcomes.items() if why]
        count = len(every) - len(failed[label])
        passed.append(
            {"cases": label, "passed": f"{count}/{len(every)}", "share": count / len(every)}
        )
    report.add("passed", passed)
    for label, rows in failed.items():
        report.add(f"not passed, {label}", rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
