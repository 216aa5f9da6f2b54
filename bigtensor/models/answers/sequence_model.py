"""Models of rows in sequences: ids or lengths beside the data, and a check of both."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Self, TypeGuard, Unpack

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.date_order import rows_out_of_order
from bigtensor.data.rows.row_sequences import (
    first_ids,
    in_sequences,
    names_by_id,
    names_of_sequences,
)
from bigtensor.data.rows.samples import Samples
from bigtensor.data.values.integer_ids import integer_ids
from bigtensor.errors import Message, ParameterError, SequenceWarning, Setting, warn
from bigtensor.models.contract.callbacks import with_callbacks
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.data_kinds import warn_of_labels
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.models.contract.parameters import check_workers
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.contract.script import PlannedPass, Script, Solved
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.sequences.sequence_ids import SequenceIds, SequenceIdsResult

ROWS_OF_A_RUN = 2
"""Mean number of rows from which runs of equal labels are probably sequences."""


class SequenceModel(Estimator):
    """Base of models of rows in sequences. The ids of a fit are checked in its first whole pass."""

    @with_callbacks
    def fit(
        self,
        X: DataLike,
        y: str | RowVariableLike | None = None,
        sample_weight: RowVariableLike | None = None,
        *,
        sequence: str | RowVariableLike | None = None,
        lengths: npt.ArrayLike | None = None,
        **options: Unpack[RunOptions],
    ) -> Self:
        """Fit the model in a few passes over the data.

        Parameters
        ----------
        X : path, xarray, AnnData, dask array or DataFrame, array-like, Samples, or a list of these
            ``(rows, features)`` in the order of time, see `bigtensor.open_samples`.
        y : (rows,) array-like, optional
            Ignored, with a warning if it looks like ids of sequences, which are `sequence`. Lengths
            of sequences in this place, as hmmlearn takes them, are `lengths`.
        sample_weight : (rows,) array-like, optional
            Weights of the rows, not negative, by default those that are stored with the data. Their
            meaning is the parameter `weights` of the model.
        sequence : str or (rows,) array-like, optional
            The sequence of every row: the name of a variable along the samples, of a column of
            ``obs`` or of a column of a table, which is then no feature, or ids as an array beside
            data in memory. A sequence is a run of equal ids, integers or names. By default it is
            the variable ``sequence`` of the data, and without one all rows are one sequence.
        lengths : array-like of int, optional
            Rows of consecutive sequences, as hmmlearn takes them, in place of `sequence`.
        **options
            ``client``, ``scheduler``, ``workers``, ``memory_limit``, ``wait_for_workers``,
            ``checkpoint`` and ``listeners``; see `Estimator.fit`.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ParameterError, DataError, PlanError, CheckpointError, ClusterError
            See `bigtensor.errors`. Every message names a remedy.

        Warns
        -----
        SequenceWarning
            When ids come back after another sequence, dates along the rows do not ascend, `y`
            looks like ids of sequences, or a coordinate ``sequence`` of a DataArray is not used.
        LabelWarning
            When `y` holds labels of less than half of the rows.
        """
        check_workers(options.get("workers"))
        lengths = self._lengths_of(X, y, sequence, lengths)
        warn_of_labels(y, type(self).__name__)
        rows, ids = in_sequences(X, sequence, lengths)
        opened = self._opened(rows, sample_weight, sequence=ids)
        _warn_of_date_order(opened.samples, self.sample_dim)
        return self._fit_opened(opened, **options)

    def _lengths_of(
        self,
        X: DataLike,
        y: str | RowVariableLike | None,
        sequence: str | RowVariableLike | None,
        lengths: npt.ArrayLike | None,
    ) -> npt.ArrayLike | None:
        """Return the lengths of sequences, which may have been given in the place of labels."""
        if y is None or sequence is not None or lengths is not None:
            return lengths
        return lengths_in_place_of_labels(y, open_samples(X, sample_dim=self.sample_dim).rows)

    def _answer(
        self,
        X: DataLike,
        output: str,
        sequence: str | RowVariableLike | None,
        lengths: npt.ArrayLike | None,
    ) -> RowAnswer:
        """Return one output for every row, in the kind of container that ``X`` is."""
        rows, ids = in_sequences(X, sequence, lengths)
        return self.row_output(rows, output, sequence=ids)

    def warn_of_rows(self, samples: Samples) -> None:
        """Warn of ids of sequences that come back, and of dates that do not ascend."""
        _warn_of_returning_in(samples)
        _warn_of_date_order(samples, self.sample_dim)

    def _open_in_order(
        self,
        X: DataLike,
        sequence: str | RowVariableLike | None,
        lengths: npt.ArrayLike | None,
        sample_weight: RowVariableLike | None = None,
    ) -> Samples:
        """Return data with the views of the fit, in their sequences."""
        self.require_fitted()
        rows, ids = in_sequences(X, sequence, lengths)
        samples = open_for_answers(self, rows, sample_weight=sample_weight, sequence=ids)
        _warn_of_date_order(samples, self.sample_dim)
        return samples

    def script(self, settings: object) -> Script:
        """Return the script of a fit, which also looks at the ids."""
        return _with_ids(super().script(settings))

    def _planned_passes(self, settings: object, *, in_rounds: bool) -> list[PlannedPass]:
        """Return upper bounds of the passes of a fit."""
        planned = super()._planned_passes(settings, in_rounds=in_rounds)
        if in_rounds:
            return planned
        return [
            replace(entry, largest=_together(entry.largest))
            if _looks_along(entry.largest)
            else entry
            for entry in planned
        ]


def lengths_in_place_of_labels(y: str | RowVariableLike | None, rows: int) -> npt.ArrayLike | None:
    """Return the numbers of `y` if it holds the lengths of sequences, and None if it holds labels.

    hmmlearn takes lengths as the second argument, and scikit-learn takes labels.

    Parameters
    ----------
    y : object
        Labels, or lengths of sequences.
    rows : int
        Number of rows of the data.

    Raises
    ------
    ParameterError
        If `y` holds neither labels nor lengths.

    Warns
    -----
    SequenceWarning
        If `y` looks like ids of sequences, whose rows follow each other, or is 1 for every row, as
        lengths of sequences of one row are.
    """
    entries = np.asarray(y)
    if entries.shape[:1] == (rows,):
        if rows > 1 and entries.dtype.kind in "iu" and (entries == 1).all():
            warn(
                Setting("y")
                + " is 1 for every row, which is read as labels and ignored, so that all rows are "
                "one sequence; give the numbers as "
                + Setting("lengths")
                + " if every row is a sequence of its own, and otherwise leave "
                + Setting("y")
                + " out",
                SequenceWarning,
            )
        _warn_of_ids(entries)
        return None
    if entries.ndim == 1 and entries.dtype.kind in "iu" and int(entries.sum()) == rows:
        return entries
    raise ParameterError(
        Setting("y")
        + f" has the shape {entries.shape}, but the data have {rows:,} rows; give one label a row, "
        f"or give lengths of sequences that add up to {rows:,} as " + Setting("lengths")
    )


def _warn_of_ids(labels: NDArray[Any]) -> None:
    """Warn of labels whose rows follow each other, as rows of a sequence do.

    Labels whose runs have one row on average are rather values of a regression.
    """
    if labels.ndim != 1:
        return
    try:
        first = np.flatnonzero(labels[1:] != labels[:-1]) + 1
        if not 0 < first.size < len(labels) / ROWS_OF_A_RUN:
            return
        runs = labels[np.r_[0, first]].tolist()
        is_repeated = len(set(runs)) < len(runs)
    except TypeError:
        # labels that cannot be compared, such as missing ones, are no ids
        return
    if not is_repeated:
        warn(
            Setting("y")
            + f" is ignored. Rows of each of its {len(runs):,} values follow each other, as rows "
            "of a sequence do: if the values are sequences, give them as the parameter "
            + Setting("sequence"),
            SequenceWarning,
        )


def ids_or_names(samples: Samples, runs: NDArray[np.int64]) -> NDArray[Any]:
    """Return the name of every sequence where names are known, else its id.

    Parameters
    ----------
    samples : Samples
        Opened data with sequences.
    runs : (runs,) int64 array
        Ids in the order of the rows. Equal neighbours are one sequence that was cut.

    Warns
    -----
    SequenceWarning
        When ids of one data set come back after another sequence.
    """
    if len(samples.sources) == 1 and len(runs):
        changed = np.concatenate([[True], runs[1:] != runs[:-1]])
        _, times = np.unique(runs[changed], return_counts=True)
        _warn_of_returning(int(np.count_nonzero(times > 1)), f"{len(times):,}")
    names = names_of_sequences(samples)
    if names is not None:
        has_names = bool(((runs >= 0) & (runs < len(names))).all())
        return np.array(names)[runs] if has_names else runs
    by_id = names_by_id(samples)
    return np.array([by_id[run] for run in runs.tolist()]) if by_id else runs


def _warn_of_returning_in(samples: Samples) -> None:
    """Warn of ids that come back within one data set, of which a sample is looked at."""
    statistic = SequenceIds()
    state = statistic.init()
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        for ids in first_ids(source):
            statistic.add(state, integer_ids(ids), offset)
    summary = statistic.finalize(state)
    _warn_of_returning(summary.returning, _in_words(summary))


def _in_words(summary: SequenceIdsResult) -> str:
    """Return the number of ids that were looked at."""
    return f"{summary.n_ids:,}{'' if summary.complete else ' looked at'}"


def _warn_of_returning(returning: int, ids: str) -> None:
    """Warn of ids that come back after another sequence. All ids are given in words."""
    if returning:
        warn(_returning_in_words(returning, ids), SequenceWarning)


def _returning_in_words(returning: int, ids: str) -> Message:
    """Return the sentence on ids that come back. All ids are given in words."""
    return (
        f"{returning:,} of {ids} ids of sequences come back after rows of another sequence, and "
        "every run of rows counts as a sequence of its own; sort the rows by sequence and time, or "
        "name another variable with " + Setting("sequence") + "."
    )


def _warn_of_date_order(samples: Samples, sample_dim: str) -> None:
    """Warn of rows whose date is before the date of the row in front of them."""
    for source in samples.sources:
        rows = rows_out_of_order(source, sample_dim)
        if len(rows):
            message = (
                f"the dates along {sample_dim!r} do not ascend within sequences at {len(rows):,} "
                f"of {source.rows:,} rows, first at row {rows[0]:,}; sort the rows by sequence and "
                "date, and name the variable that tells sequences apart, such as the station, with "
            )
            warn(message + Setting("sequence"), SequenceWarning)


def _looks_along(request: object) -> TypeGuard[Pass[Any]]:
    """Return True for a pass over all rows that looks at the rows after its own."""
    return isinstance(request, Pass) and request.rows is None and request.statistic.halo > 0


def _together(pass_: Pass[Any]) -> Pass[Any]:
    """Return a pass that also looks at the ids."""
    return replace(pass_, statistic=Together.named(rows=pass_.statistic, ids=SequenceIds()))


def _with_ids(script: Script) -> Generator[Any, Any, Solved]:
    """Run a script, of which the first pass along sequences also looks at the ids."""
    summary: SequenceIdsResult | None = None
    result: Any = None
    while True:
        try:
            request = script.send(result)
        except StopIteration as end:
            solved: Solved = end.value
            returning = 0 if summary is None else summary.returning
            diagnostics = {**solved.diagnostics, "sequence_ids_that_come_back": returning}
            if summary is not None and returning:
                sentence = _returning_in_words(returning, _in_words(summary))
                verdict = diagnostics["verdict"]
                faults = [one for one in verdict["sentences"] if one != solved.confirmation]
                sentences = [sentence, *faults]
                diagnostics["verdict"] = {**verdict, "good": False, "sentences": sentences}
            return replace(solved, diagnostics=diagnostics)
        if summary is not None or not _looks_along(request):
            result = yield request
            continue
        both = yield _together(request)
        result, summary = both["rows"], both["ids"]
        assert summary is not None
        _warn_of_returning(summary.returning, _in_words(summary))
