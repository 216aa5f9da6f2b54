"""Description of a fitted model: facts for the command line, HTML, and its parts of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from bigtensor.errors import ParameterError, Setting
from bigtensor.models.words.described_model import DescribedModel
from bigtensor.models.words.report_blocks import ReportParts
from bigtensor.models.words.sampled_rows import SampledRows
from bigtensor.models.words.summary_table import SummaryTable
from bigtensor.models.words.wording import sentence_of

Facts = dict[str, Any]
Line = tuple[str, str]
"""A name and words."""

Model = TypeVar("Model", bound=DescribedModel, contravariant=True)
"""Fitted model with the attributes that a description uses."""


class ModelDescription(Generic[Model]):
    """Facts and words on any model, for `info`, `fit`, `predict`, `report` and notebooks.

    A model declares its own in `description`. The type in brackets lists the attributes that are
    used, such as ``ModelDescription[DescribedModel]``. Each method may be overridden by itself.
    `facts` is all that is true of the model. `size`, `lines` and `table` put facts into words, so
    that words and JSON cannot differ.

    Attributes
    ----------
    row_answer : str, optional
        Answer that ``bigtensor predict`` writes for every row, of a model without labels; None if
        there is none.
    """

    row_answer: ClassVar[str | None] = None

    def facts(self, model: Model) -> Facts:
        """Return facts of a fitted or a prepared model, as JSON holds them.

        ``bigtensor info --json`` and ``bigtensor fit --json`` print them.

        Parameters
        ----------
        model : fitted or prepared model
            Model with its ``diagnostics_``.
        """
        fitted = model.__sklearn_is_fitted__()
        return {"outcome": dict(self.outcome(model)) if fitted else {}}

    def outcome(self, model: Model) -> list[Line]:  # noqa: ARG002
        """Return how the fit ended, as names and words.

        Parameters
        ----------
        model : fitted model
            Model with its ``diagnostics_``.
        """
        return []

    def size(self, facts: Mapping[str, Any]) -> str:  # noqa: ARG002
        """Return the size of a model in words, such as ``"4 components"``; empty for none.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        return ""

    def lines(self, facts: Mapping[str, Any]) -> Iterator[Line]:
        """Return names and words for the facts of a fitted model.

        Parameters
        ----------
        facts : mapping
            From `facts`.
        """
        yield from facts["outcome"].items()

    def table(self, facts: Mapping[str, Any]) -> SummaryTable:  # noqa: ARG002
        """Return a table of the parts of a fitted model, such as its components.

        Parameters
        ----------
        facts : mapping
            From `facts`.

        Returns
        -------
        SummaryTable
            Without rows where there is nothing to list.
        """
        return SummaryTable()

    def row_outputs(
        self,
        model: Model,
        level: str | None = None,
        *,
        probabilities: bool = False,
    ) -> tuple[str, ...]:
        """Return the names of the answers that ``bigtensor predict`` writes for every row.

        Parameters
        ----------
        model : fitted model
            Fitted model, named in the message.
        level : {"population", "component"}, optional
            Level of labels, which only mixtures have.
        probabilities : bool, default False
            True for probabilities of labels, which only mixtures have.

        Raises
        ------
        ParameterError
            When the model has no `row_answer`, or a level or probabilities are asked for.
        """
        name = type(model).__name__
        if self.row_answer is None:
            raise ParameterError(
                f"a {name} gives no labels; write its answers with model.write in Python"
            )
        if level is not None or probabilities:
            raise ParameterError(
                f"{self.row_answer} of a {name} has neither levels nor probabilities: leave "
                + Setting("probabilities" if level is None else "level")
                + " out"
            )
        return (self.row_answer,)

    def report(self, model: Model, rows: SampledRows | None) -> ReportParts:  # noqa: ARG002
        """Return the parts of the report that only the model knows.

        Parameters
        ----------
        model : fitted model
            Fitted model that the report describes.
        rows : SampledRows, optional
            Sample of rows of the data; of a mixture LabelledRows.
        """
        outcome = self.outcome(model)
        return ReportParts(method=tuple(sentence_of(f"{name}: {words}") for name, words in outcome))
