"""Fit in rounds: the passes of its script one by one, over rows that never leave their site."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bigtensor._version import __version__
from bigtensor.data.rows.rows_where import all_rows
from bigtensor.data.rows.samples import Samples
from bigtensor.data.values.sample_weight_meanings import COUNTS, RELATIVE
from bigtensor.engine.checkpoint import content_key
from bigtensor.errors import ParameterError, Setting, StatisticsError, WeightWarning, warn
from bigtensor.models.contract.parameters import plain
from bigtensor.models.contract.run import Ran
from bigtensor.models.contract.script import Script, Solved, replay
from bigtensor.models.contract.statistics_file import Part, Statistics
from bigtensor.statistics.base import Pass
from bigtensor.statistics.state_of import KeptState, StateOf
from bigtensor.store import pack, unpack

READING = ("missing", "sample_dim")
"""Parameters that say how rows are read. Every site may have its own."""

LEAST_SHARE = 0.9
"""Smallest share of the expected rows without a warning: their number may be rounded. With a tenth
fewer rows, bandwidths are two percent narrower than the rule for the rows says."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """Passes of a fit so far, and the pass that comes next.

    Attributes
    ----------
    preparation : dataclass
        From the first half of the script of the model, without a row.
    digest : str
        Of the preparation.
    diagnostics : dict
        Diagnostics of the prepared model besides those in ``preparation``, such as its passes.
    finished : tuple of Statistics
        Sums of the finished passes, each over all rows.
    next_pass : Pass, optional
        The next pass; None after the last. It is kept rather than computed again, so that every
        site compares its rows with the same bits.
    parameters : mapping of str to object
        Parameters of the preparation, as JSON holds them, without those of `READING`.
    expected_rows : float
        Number of rows of all sites, which weighted rows stand for.
    """

    preparation: Any
    digest: str
    diagnostics: dict[str, Any]
    finished: tuple[Statistics, ...]
    next_pass: Pass[Any] | None
    parameters: Mapping[str, Any]
    expected_rows: float

    @classmethod
    def of_preparation(
        cls,
        preparation: Any,
        diagnostics: dict[str, Any],
        refine: Callable[[Any], Script],
        classes: tuple[type, ...],
        parameters: Mapping[str, Any],
        expected_rows: float,
    ) -> Rounds:
        """Return the rounds of a new preparation.

        Parameters
        ----------
        preparation : dataclass
            From the first half of the script, with ``diagnostics``.
        diagnostics : dict
            Diagnostics of the prepared model.
        refine : callable
            The second half of the script, of a preparation.
        classes : tuple of type
            Dataclasses that the preparation is made of.
        parameters : mapping of str to object
            Parameters of the model, as JSON holds them.
        expected_rows : float
            Number of rows of all sites, which weighted rows stand for.
        """
        of_run = {
            name: value
            for name, value in diagnostics.items()
            if name not in preparation.diagnostics
        }
        packed = pack(preparation, classes)
        stored = unpack(packed, classes)
        _, next_pass = replay(refine(stored), ())
        kept = {name: value for name, value in parameters.items() if name not in READING}
        return cls(stored, packed.digest, of_run, (), next_pass, kept, expected_rows)

    @property
    def mixture(self) -> str:
        """Digest of the mixture of the next pass, empty for the first pass."""
        return _digest(self.finished)

    def require_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Raise a ParameterError if a parameter has changed since the model was prepared.

        Parameters
        ----------
        parameters : mapping of str to object
            Parameters of the model now, as JSON holds them.
        """
        for name, prepared in plain(self.parameters).items():
            if parameters[name] != prepared:
                raise ParameterError(
                    "the model was prepared with "
                    + Setting(name, prepared)
                    + " and now has "
                    + Setting(name, parameters[name])
                    + ", which sums of the old preparation cannot follow; set the earlier value, "
                    "or call prepare again"
                )

    def warn_of_absent_rows(self, statistics: Statistics) -> None:
        """Warn if many of the expected rows are not in the statistics.

        Parameters
        ----------
        statistics : Statistics
            Sums that are to be solved.
        """
        # rows that were left out are not weighted: they count as much as the others do on average
        rows = max(statistics.rows, 1)
        present = statistics.weight * (rows + statistics.rows_left_out) / rows
        if present < LEAST_SHARE * self.expected_rows:
            warn(
                f"the statistics of {statistics.data} have {present:,.0f} rows, and the model was "
                f"prepared for {self.expected_rows:,.0f}; merge the statistics of all parts, or "
                "prepare the model with the right number of " + Setting("rows"),
                WeightWarning,
            )

    def after(self, statistics: Statistics) -> tuple[Statistics, ...]:
        """Return the sums of the finished passes, the given ones as the last.

        Sums of an earlier pass take the place of those that were there.

        Raises
        ------
        StatisticsError
            When they were made with another preparation or another mixture.
        """
        if statistics.preparation != self.digest:
            raise StatisticsError(
                f"the statistics of {statistics.data} have the preparation "
                f"{statistics.preparation[:8]}, and this model has the preparation "
                f"{self.digest[:8]}; solve them with the prepared model that they were accumulated "
                "with"
            )
        for count in range(len(self.finished) + 1):
            earlier = self.finished[:count]
            if _digest(earlier) == statistics.mixture:
                return (*earlier, statistics)
        raise StatisticsError(
            f"the statistics of {statistics.data} were made with the mixture "
            f"{statistics.mixture[:8]}, and this model has {self.mixture[:8] or 'none yet'}; solve "
            "them with the model that they were accumulated with"
        )

    def next_sums(self, model: str) -> Pass[Any]:
        """Return the next pass, whose result is its state and the rows in it.

        Parameters
        ----------
        model : str
            Class of the model, for messages.

        Raises
        ------
        StatisticsError
            When there is no further pass.
        """
        if self.next_pass is None and not self.finished:
            raise StatisticsError(
                f"this {model} asks for no pass after its sample; fit it in one place"
            )
        if self.next_pass is None:
            raise StatisticsError(
                f"this {model} has had all its passes, the last one "
                f"{self.finished[-1].pass_name!r}; there is nothing left to accumulate"
            )
        return replace(self.next_pass, statistic=StateOf(self.next_pass.statistic))

    def statistics_of(self, model: str, samples: Samples, ran: Ran) -> Statistics:
        """Return the statistics of the next pass, which has run over some rows.

        Parameters
        ----------
        model : str
            Class of the model.
        samples : Samples
            The rows.
        ran : Ran
            The pass, from `next_sums`.
        """
        assert self.next_pass is not None
        sums: KeptState = ran.result
        stores = [all_rows(source) for source in samples.sources]
        stored = all(hasattr(store, "url") or hasattr(store, "path") for store in stores)
        part = Part(
            data=samples.describe(),
            rows=sums.rows,
            weight=sums.weight,
            rows_left_out=ran.rows_left_out,
            version=__version__,
            digest=content_key(sums.state),
            store=" and ".join(store.describe() for store in stores) if stored else "",
            stored_rows=samples.source_rows,
        )
        return Statistics(
            model, self.next_pass.name, self.digest, self.mixture, sums.state, (part,)
        )

    def restarted(self, refine: Callable[[Any], Script]) -> Rounds:
        """Return the rounds before the first pass."""
        if not self.finished:
            return self
        _, next_pass = replay(refine(self.preparation), ())
        return replace(self, finished=(), next_pass=next_pass)

    def solved(
        self, finished: tuple[Statistics, ...], refine: Callable[[Any], Script]
    ) -> tuple[Solved | None, Rounds]:
        """Return the solution after some passes, if they give one, and the rounds from there on.

        Parameters
        ----------
        finished : tuple of Statistics
            At least one.
        refine : callable
            The second half of the script, of a preparation.
        """
        sums = [statistics.state for statistics in finished]
        make, next_pass = replay(refine(self.preparation), sums)
        onwards = replace(self, finished=finished, next_pass=next_pass)
        if make is None:
            return None, onwards
        solved = make()
        last = finished[-1]
        diagnostics_of_rounds = {
            "data": last.data,
            "rows": last.rows + last.rows_left_out,
            "rows_left_out": last.rows_left_out,
            "passes": [
                *self.diagnostics["passes"],
                *(
                    {
                        "name": entry.pass_name,
                        "rows": entry.rows + entry.rows_left_out,
                        "parts": len(entry.parts),
                        "reused_parts": 0,
                    }
                    for entry in finished
                ),
            ],
        }
        diagnostics = self.preparation.diagnostics | self.diagnostics | solved.diagnostics
        # the rows that prepared the model may have had other weights
        if last.weight == last.rows:
            for name in ("effective_rows", "whole_weights"):
                diagnostics.pop(name, None)
        else:
            diagnostics["effective_rows"] = last.weight
        return replace(solved, diagnostics=plain(diagnostics | diagnostics_of_rounds)), onwards


def warn_of_forgotten_fit(model: str, rows: int) -> None:
    """Warn that the first batch after a fit takes the place of the fit.

    Parameters
    ----------
    model : str
        Class of the model.
    rows : int
        Number of rows of the fit. 0 if the parameters were taken over from another model.
    """
    earlier = f"{rows:,} rows of its fit" if rows else "parameters of the model"
    warn(
        f"this {model} keeps no sums of its fit, so that partial_fit begins anew with this batch "
        f"and forgets the {earlier}; begin with partial_fit or prepare in place of fit, and give "
        "all rows as batches",
        WeightWarning,
    )


def refuse_relative_weights(samples: Samples, weights: str) -> None:
    """Raise a ParameterError for relative weights: no site has the weights of all rows.

    Parameters
    ----------
    samples : Samples
        Rows of a site.
    weights : {"counts", "relative"}
        Meaning of their weights.
    """
    if samples.has_weight and weights == RELATIVE:
        raise ParameterError(
            Setting("weights", RELATIVE)
            + " needs the weights of all rows at once, and a fit in rounds or batches never "
            "has them; scale the weights so that they add up to the number of rows of all "
            "parts, and use " + Setting("weights", COUNTS)
        )


def _digest(finished: tuple[Statistics, ...]) -> str:
    """Return a digest of the sums of finished passes, empty before the first pass."""
    return content_key([entry.state for entry in finished]) if finished else ""
