"""Sentences that hold for every model: what was fitted on what, and which rows are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.models.words.wording import counted, passes_in_words, size

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator


def fit_sentences(
    model: Estimator, level: LabelLevel | None = None, method: Sequence[str] = ()
) -> list[str]:
    """Say what was fitted on what, and in how many passes.

    Parameters
    ----------
    model : fitted model
        Model whose diagnostics and parameters are read.
    level : LabelLevel, optional
        Of a mixture.
    method : sequence of str
        Sentences of the model on how it was fitted.

    Returns
    -------
    list of str
        Whole sentences.
    """
    diagnostics, name = model.diagnostics_, type(model).__name__
    features = len(model.views_.feature_names)
    parts = "" if level is None else f" of {counted(len(level.component_weights), 'component')}"
    return [
        f"{'An' if name.startswith('I') else 'A'} {name}{parts} was fitted to "
        f"{counted(diagnostics['rows'], 'row')} of {counted(features, 'feature')}.",
        f"The data: {diagnostics['data']}.",
        *method,
        _passes_sentence(diagnostics["passes"]),
        *([_plan_sentence(diagnostics["plan"])] if "plan" in diagnostics else []),
        _seed_sentence(model.parameters_of_fit().get("random_state")),
    ]


def sample_sentence(rows: SampledRows, other_data: str = "") -> str:
    """Say which rows the figures and tables of rows are made of.

    Parameters
    ----------
    rows : SampledRows
        Sample of the rows.
    other_data : str, default ""
        Name of the data, if they are not those of the fit.
    """
    count = len(rows.weight)
    if count + rows.left_out == rows.total:
        words = f"all {counted(count, 'row')} of the data"
    else:
        words = (
            f"a sample of {count:,} of the {counted(rows.total, 'row')}, in windows spread evenly "
            "over the data"
        )
    others = f". These are not the data of the fit: {other_data}" if other_data else ""
    return f"Figures and tables of rows show {words}{others}."


def _passes_sentence(passes: Sequence[dict[str, Any]]) -> str:
    """Say what was read."""
    count = counted(len(passes), "pass", "passes")
    sentence = f"The data were read in {count}: {passes_in_words(passes)}"
    reused = sum(pass_["reused_parts"] for pass_ in passes)
    if reused:
        sentence += f"; {counted(reused, 'part')} came from a checkpoint"
    return f"{sentence}."


def _plan_sentence(plan: dict[str, Any]) -> str:
    """Say where it ran and what was planned for."""
    allowed = plan["allowed_nbytes"]
    limit = f"of {size(allowed)} allowed" if allowed else "with no limit given"
    return (
        f"It ran on {counted(plan['workers'], 'process', 'processes')} of "
        f"{counted(plan['threads'], 'thread')}, up to {counted(plan['tasks'], 'task')} a pass; the "
        f"plan was to read at most {size(plan['read_nbytes'])} and to hold at most "
        f"{size(plan['projected_nbytes'])} in a process, {limit}."
    )


def _seed_sentence(random_state: int | None) -> str:
    """Say what makes the fit repeatable."""
    seed = "0 (the default)" if random_state is None else str(random_state)
    return f"Random state {seed}: the same data and parameters give the same model."
