"""The tables of how a fit went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bigtensor.report.tables import Cell, Table


def pass_table(passes: Sequence[dict[str, Any]]) -> Table:
    """Return what every pass read."""
    return Table(
        ("pass", "rows", "parts", "reused parts"),
        tuple(
            (
                Cell(str(one["name"])),
                *(Cell(f"{one[key]:,}") for key in ("rows", "parts", "reused_parts")),
            )
            for one in passes
        ),
    )


def parameter_table(parameters: dict[str, Any]) -> Table:
    """Return the parameters that the model was made with."""
    return Table(
        ("parameter", "value"),
        tuple((Cell(name), Cell(str(value))) for name, value in parameters.items()),
    )


def conditioning_table(spectral: dict[str, Any], groups: Sequence[Sequence[str]]) -> Table:
    """Return condition numbers and spectral gaps of the three groups of views."""
    names = [", ".join(members) for members in groups]
    rows = [
        (Cell(f"second moments of {name}"), Cell(f"{value:.3g}"))
        for name, value in zip(names, spectral["condition_numbers"]["seconds"], strict=True)
    ]
    for pair, value in spectral["condition_numbers"]["pairs"].items():
        first, second = (names[int(group)] for group in pair.split("-"))
        rows.append((Cell(f"pair moments of {first} with {second}"), Cell(f"{value:.3g}")))
    for name, gap in zip(names, spectral["spectral_gap"], strict=True):
        rows.append(
            (Cell(f"spectral gap of {name}"), Cell("none" if gap is None else f"{gap:.3g}"))
        )
    return Table(
        ("figure", "value"),
        tuple(rows),
        "The larger a condition number, and the closer a spectral gap to one, the less certain is "
        "the spectral start.",
    )


def bandwidth_table(found: Mapping[str, Any]) -> Table:
    """Return the bandwidths that were tried, and what they were chosen by.

    Parameters
    ----------
    found : mapping
        The diagnostics' ``bandwidth_choice``.
    """
    kind = "spectral_gaps" if "spectral_gaps" in found else "held_out_log_likelihood"
    score, caption = {
        "spectral_gaps": (
            "spectral gap",
            "By how much the last singular value that is kept exceeds the next one, over the "
            "largest: in the sample, and in the group of views where it is least.",
        ),
        "held_out_log_likelihood": (
            "held-out log-likelihood",
            "Mean log-likelihood of rows that the mixture has not seen, in nats a row.",
        ),
    }[kind]
    rows = tuple(
        (
            Cell(f"{factor:g}"),
            Cell("none" if value is None else f"{value:.4g}" if "gap" in kind else f"{value:.4f}"),
            Cell("chosen" if factor == found["chosen"] else ""),
        )
        for factor, value in zip(found["factors"], found[kind], strict=True)
    )
    return Table(("times the rule", score, ""), rows, caption)


def landmark_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return how many landmarks every view has, and what they leave out.

    Parameters
    ----------
    found : mapping of str to mapping
        The diagnostics' ``landmarks``.
    """
    rows = tuple(
        (
            Cell(view),
            Cell(str(one["count"])),
            Cell("unknown" if one["trace_error"] is None else f"{one['trace_error']:.2g}"),
        )
        for view, one in found.items()
    )
    return Table(
        ("view", "landmarks", "trace error"),
        rows,
        "Trace error: the part of the trace of the kernel matrix of the sample that the landmarks "
        "leave out. Zero is best.",
    )
