"""How often the number of components is found by a model that is told nothing of it."""

from __future__ import annotations

from bigtensor import KernelMixture
from bigtensor.data.simulate import kernel_mixture
from tests.benchmarks.preparations import doubtful_starts_allowed
from tests.benchmarks.tables import Report, Row

SETTINGS = (
    ("gaussian", 3, 1000, 4.0),
    ("gaussian", 4, 2000, 4.0),
    ("gamma", 4, 2000, 4.0),
    ("gaussian", 8, 5000, 4.0),
    ("gaussian", 4, 5000, 1.5),
)
"""Family, components, rows and separation."""

LEAST_SHARE = 0.9


def add_component_counts(report: Report, *, sets: int) -> None:
    """Count the components of several data sets of every kind."""
    table: list[Row] = []
    found: list[bool] = []
    for family, components, rows, separation in SETTINGS:
        counts = [
            _count(family, components, rows, separation, repetition) for repetition in range(sets)
        ]
        right = [count == components for count in counts]
        found += right
        table.append(
            {
                "family": family,
                "components": components,
                "rows": rows,
                "separation": separation,
                "counts": " ".join(map(str, counts)),
                "right": sum(right),
            }
        )
    share = sum(found) / len(found)
    table.append(
        {
            "family": "all",
            "right": sum(found),
            "share": share,
            "bars": f"share >= {LEAST_SHARE:g}",
            "holds": share >= LEAST_SHARE,
        }
    )
    report.add("B8 number of components", table)


def _count(family: str, components: int, rows: int, separation: float, repetition: int) -> int:
    """Fit a model that counts the components, and return how many it found."""
    data = kernel_mixture(
        rows,
        components,
        family,  # type: ignore[arg-type]
        separation,
        random_state=1000 * repetition + components,
    )
    with doubtful_starts_allowed():
        model = KernelMixture(max_iter=1, random_state=0).fit(data)
    return len(model.weights_)
