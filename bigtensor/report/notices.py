"""Notices that hold for every model: rows left out, small components, how rows fit the model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.values.sample_weight_meanings import RELATIVE
from bigtensor.models.answers.group_table import lacks_weights
from bigtensor.models.words.label_level import RELIABLE_ROWS, UNSTABLE_BELOW, LabelLevel
from bigtensor.models.words.report_blocks import Notice
from bigtensor.models.words.sampled_rows import LabelledRows, SampledRows
from bigtensor.models.words.wording import counted, names_in_words, percent, words_of
from bigtensor.report.samples.acquisition_section import stretch_sentence

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator

FOREIGN = 0.05
"""Difference between a weight and the share of labelled rows that wants an explanation."""

MOST_BANNERS = 2
"""Warnings above the first section. Further ones stand with the other notes on the fit."""

SURE = 0.9
"""Probability from which a label counts as sure in the notice on labels."""


def fit_notices(
    model: Estimator,
    level: LabelLevel | None,
    artefacts: Collection[int] = (),
    rows: SampledRows | None = None,
) -> list[Notice]:
    """Say how many rows the fit did without, and which components are small.

    Parameters
    ----------
    model : fitted model
        Model whose diagnostics are read.
    level : LabelLevel, optional
        Of a mixture.
    artefacts : collection of int
        Labels that another notice calls artefacts of the acquisition.
    rows : SampledRows, optional
        Sample of the data.
    """
    missing = _missing_notices(model.diagnostics_.get("rows_left_out", 0))
    if level is None:
        return missing
    return [
        *missing,
        *_unstable_notices(level),
        *_small_notices(level, _rows_of_labels(model, level, rows), artefacts),
    ]


def row_notices(model: Estimator, rows: SampledRows, level: LabelLevel | None) -> list[Notice]:
    """Say how the sampled rows fit the model.

    Parameters
    ----------
    model : fitted model
        Model whose diagnostics are read.
    rows : SampledRows
        Sample of the data.
    level : LabelLevel, optional
        Of a mixture.
    """
    notices = []
    if level is not None and isinstance(rows, LabelledRows):
        notices += _label_notices(model, rows, level)
    if rows.left_out:
        text = (
            f"{counted(rows.left_out, 'row')} of the sample hold missing values and are left out "
            "of this report."
        )
        notices.append(Notice("warning", text))
    return notices


def _label_notices(model: Estimator, rows: LabelledRows, level: LabelLevel) -> list[Notice]:
    """Say how sure labels are, and name the weight that differs most from its share of labels."""
    weights, name = level.weights, level.name
    sure = float(np.average(rows.certainty > SURE, weights=rows.weight))
    text = (
        f"{100 * sure:.0f} % of the sampled rows belong to their {name} with a probability "
        f"above {SURE}."
    )
    notices = [*_stretch_notices(rows, name), Notice("note", text)]
    difference = rows.shares(len(weights)) - weights
    worst = int(np.argmax(np.abs(difference)))
    share = weights[worst] + difference[worst]
    if abs(difference[worst]) > FOREIGN:
        text = (
            f"{name.capitalize()} {worst} holds {100 * share:.1f} % of the labelled rows, "
            f"but its weight is {100 * weights[worst]:.1f} %. "
        )
        if rows.samples is not None and lacks_weights(model, rows.samples):
            text += (
                "The rows of the fit had sample weights, and these data have none: give data with "
                "their weights, from open_samples or with a variable 'weight'."
            )
        else:
            text += (
                f"Either the data are not those of the fit, or the {name}s overlap so much that "
                "the most probable one says little; look at probabilities instead of labels."
            )
        notices.append(Notice("warning", text))
    return notices


def _stretch_notices(rows: LabelledRows, name: str) -> list[Notice]:
    """Name the labels that may be artefacts of the acquisition."""
    return [Notice("warning", stretch_sentence(one, name)) for one in rows.stretches]


def banners(notices: Sequence[Notice]) -> list[Notice]:
    """Return the warnings that stand above the first section."""
    return [notice for notice in notices if notice.level == "warning"][:MOST_BANNERS]


def one_verdict(notices: Sequence[Notice]) -> list[Notice]:
    """Return the notices on a fit, without its good verdict if there are warnings beside it."""
    if all(notice.level != "warning" for notice in notices):
        return [*notices]
    return [notice for notice in notices if notice.level != "good"]


def notes(notices: Sequence[Notice]) -> list[Notice]:
    """Return the notices that are no banners, further warnings first."""
    above = banners(notices)
    others = [notice for notice in notices if notice not in above]
    return sorted(others, key=lambda notice: ("warning", "good", "note").index(notice.level))


def _missing_notices(left_out: int) -> list[Notice]:
    """Say how many rows the fit did without."""
    if not left_out:
        return []
    return [
        Notice(
            "warning",
            f"{counted(left_out, 'row')} with missing values {'was' if left_out == 1 else 'were'} "
            "left out of the fit.",
        )
    ]


def _unstable_notices(level: LabelLevel) -> list[Notice]:
    """Name the populations that halves of the rows do not have."""
    if level.stability is None:
        return []
    unstable = np.flatnonzero(level.stability < UNSTABLE_BELOW).tolist()
    if not unstable:
        return []
    pronoun = "it" if len(unstable) == 1 else "them"
    share = percent(float(level.weights[unstable].sum()))
    text = (
        f"{counted(len(unstable), 'population')} with {share} of the rows "
        f"{'is' if len(unstable) == 1 else 'are'} unstable ({words_of(unstable)}): fits of halves "
        f"of the rows do not have {pronoun}. Look at {pronoun} before you draw conclusions, or "
        f"merge {pronoun} with the nearest ones."
    )
    return [Notice("note", text)]


def _rows_of_labels(
    model: Estimator, level: LabelLevel, rows: SampledRows | None
) -> NDArray[np.float64] | None:
    """Return the number of rows of the fit with each label, None if only weights are known.

    Shares of relative weights are no shares of rows.
    """
    diagnostics = model.diagnostics_
    if "effective_rows" not in diagnostics:
        return np.asarray(level.weights * diagnostics["rows"])
    if model.weights != RELATIVE:
        return np.asarray(level.weights * diagnostics["effective_rows"])
    if isinstance(rows, LabelledRows):
        return np.asarray(rows.row_shares(level.count) * diagnostics["rows"])
    return None


def _small_notices(
    level: LabelLevel, rows: NDArray[np.float64] | None, named: Collection[int]
) -> list[Notice]:
    """Count the components, or populations, of a few rows that no other notice names."""
    if rows is None:
        return []
    name = level.name
    small = [int(h) for h in np.flatnonzero(rows < RELIABLE_ROWS) if h not in named]
    if not small:
        return []
    single, span = len(small) == 1, small[-1] - small[0] + 1
    # weights descend, so that small ones often follow each other
    follow = 3 <= span == len(small)
    numbers = f"{small[0]} to {small[-1]}" if follow else names_in_words([*map(str, small)])
    how = " (bigtensor cut)" if name == "population" else ""
    return [
        Notice(
            "warning",
            f"{name.capitalize()}{'' if single else 's'} {numbers} "
            f"{'has' if single else 'have'} fewer than {RELIABLE_ROWS} rows"
            f"{'' if single else ' each'}, too few for {'its' if single else 'their'} densities "
            "and labels to be reliable. "
            f"Compare with fewer {name}s{how}.",
        )
    ]
