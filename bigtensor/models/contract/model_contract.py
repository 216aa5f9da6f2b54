"""Contract of a model: its declarations, the run of its script, and its saved form."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from bigtensor.data.addresses.store_address import Address
from bigtensor.data.rows.sample_weights import with_meaning
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views, ViewsLike
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.data.values.weight_meanings import COUNTS
from bigtensor.errors import Message, ParameterError
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.parameters import check_inputs, plain
from bigtensor.models.contract.registry import memory_parameters
from bigtensor.models.contract.rounds import Rounds
from bigtensor.models.contract.row_answers import RowAnswers, is_named, is_plain
from bigtensor.models.contract.run import Ran, RunOptions, run_script
from bigtensor.models.contract.script import (
    PlannedMethod,
    PlannedPass,
    Script,
    SizedScript,
    Solved,
    single_pass,
)
from bigtensor.models.contract.statistics_file import Part, Statistics
from bigtensor.models.words.description import ModelDescription, summary_html
from bigtensor.statistics.base import Pass, Statistic
from bigtensor.store import Contents, Packed, pack, unpack, write_group


class ModelContract(RowAnswers):
    """Declarations of a model, and the methods that follow from them."""

    views: ViewsLike | None
    missing: str
    weights: str = COUNTS
    sample_dim: str
    views_: Views
    n_features_in_: int
    diagnostics_: dict[str, Any]
    statistics_: Statistics
    stored_classes: ClassVar[tuple[type, ...]]
    """Dataclasses that the preparation, the passes and the solution of the model are made of."""

    only_view: ClassVar[str | None] = None
    """Name of one view of all features, where these are not each a view by default."""

    description: ClassVar[ModelDescription] = ModelDescription()
    """Facts for the command line, and the parts of the report that only the model knows."""

    _rounds: Rounds | None = None
    """The passes of a fit in rounds; None unless the model was prepared."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise a ParameterError for a parameter of this model that is out of range."""

    def _without_effect(self) -> Message | None:
        """Return a sentence on a parameter that is given although nothing uses it, or None.

        The command line refuses it. In Python such parameters are ignored, as in scikit-learn.
        """
        return None

    @abstractmethod
    def _prepare(self, shape: DataShape, expected: float | None = None) -> Script:
        """Ask for the passes after which everything is fixed that the sums depend on.

        Parameters
        ----------
        shape : DataShape
            Size, names and types of the data.
        expected : float, optional
            Number of rows of all sites of a fit in rounds; None for a fit.

        Returns
        -------
        preparation : dataclass
            With its ``diagnostics``; in rounds, without a row.
        """

    @abstractmethod
    def _refine(self, preparation: Any) -> Script:
        """Ask for sums, solve between them, and return a `Solved`."""

    @abstractmethod
    def _planned_preparation(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of the passes of `_prepare`."""

    @abstractmethod
    def _planned_refinement(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of the passes of `_refine`."""

    def _planned_methods(self, shape: DataShape) -> list[PlannedMethod]:  # noqa: ARG002
        """Return the methods of a fit, where there are several to choose from."""
        return []

    @abstractmethod
    def _adopt(self, fitted: Any) -> None:
        """Set `_fitted` and the fitted attributes."""

    @abstractmethod
    def _outcome_in_words(self) -> list[tuple[str, str]]:
        """Return how the fit ended, as names and words."""

    def _summary_table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Return head and rows of the table in the notebook's summary; no rows for none."""
        return (), []

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Address:
        """Save the model as a Zarr group without pickle; `bigtensor.load` reads it back.

        Parameters
        ----------
        path : path or URL
            It appears under this name when it is whole.
        overwrite : bool, default False
            Replace a store of this name.

        Returns
        -------
        Path or str
            A URL stays a string.

        Raises
        ------
        OutputError
            When the target exists, or cannot be written.
        """
        return write_group(path, self.to_contents(), overwrite=overwrite)

    def to_contents(self) -> Contents:
        """Return the contents of the saved model: JSON and named arrays.

        Raises
        ------
        NotFittedError
            Before `fit` and `prepare`.
        ParameterError
            When the model holds a callable, which no file can hold.
        """
        if self._rounds is None:
            self._require_fitted()
        state = {
            "views": self.views_,
            "fitted": self._fitted,
            "rounds": self._rounds,
            "statistics": getattr(self, "statistics_", None),
        }
        packed = pack(state, self._stored_classes())
        if packed.objects:
            raise ParameterError(
                f"a model with {packed.objects[0]!r} cannot be saved, because no file holds a "
                "callable; write the answers of the model, or use another kernel"
            )
        attrs = {
            "parameters": plain(self._parameters_of_fit()),
            "n_features_in": self.n_features_in_,
            "feature_names_in": plain(getattr(self, "feature_names_in_", [])),
            "categories": plain(getattr(self, "categories_", None)),
            "diagnostics": self.diagnostics_,
            "state": packed.tree,
        }
        return Contents(type(self).__name__, attrs, packed.arrays)

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the model of these contents; see `to_contents`."""
        attrs = contents.attrs
        model = cls(**attrs["parameters"])
        state = unpack(Packed(attrs["state"], contents.arrays), cls._stored_classes())
        model.views_ = state["views"]
        model.n_features_in_ = attrs["n_features_in"]
        if attrs["feature_names_in"]:
            model.feature_names_in_ = np.asarray(attrs["feature_names_in"], dtype=object)
        if attrs.get("categories") is not None:
            model.categories_ = {
                name: tuple(categories) for name, categories in attrs["categories"].items()
            }
        model.diagnostics_ = attrs["diagnostics"]
        model._rounds = state["rounds"]
        if state["statistics"] is not None:
            model.statistics_ = state["statistics"]
        if state["fitted"] is not None:
            model._adopt(state["fitted"])
        return model

    @classmethod
    def _stored_classes(cls) -> tuple[type, ...]:
        """Return the dataclasses that a saved model is made of."""
        return (*cls.stored_classes, Views, Rounds, Statistics, Part, Pass)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: missing values, categories and names that are taken."""
        tags: Tags = super().__sklearn_tags__()
        kinds = {self._preferred_kind} if self._preferred_kind else self.takes.kinds
        tags.input_tags.string = "codes" in kinds
        tags.input_tags.categorical = kinds == {"codes"}
        tags.input_tags.allow_nan = self.missing in ("omit", MARGINALISE)
        return tags

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and a summary once there is something to tell."""
        diagram: str = super()._html_repr()
        if not self.__sklearn_is_fitted__():
            return diagram
        before, end, after = diagram.rpartition("</body>")
        return before + summary_html(self) + end + after

    def _script(self, shape: DataShape) -> Script:
        """Return the whole script of a fit."""
        preparation = yield from self._prepare(shape)
        return (yield from self._refine(preparation))

    def _planned_passes(self, shape: DataShape) -> list[PlannedPass]:
        """Return upper bounds of the passes of a fit."""
        return [*self._planned_preparation(shape), *self._planned_refinement(shape)]

    def _take(self, solved: Solved) -> None:
        """Set the result of a fit, in the same memory layout as after loading.

        The bits of a sum depend on the layout.
        """
        self.diagnostics_ = solved.diagnostics
        classes = self._stored_classes()
        self._adopt(unpack(pack(solved.fitted, classes), classes))

    def _forget_fit(self) -> None:
        """Remove the result of an earlier fit."""
        self._fitted, self._rounds = None, None
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)

    def _require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit, with the way from a preparation to one."""
        if self._rounds is not None and self._fitted is None:
            raise NotFittedError(
                f"this {type(self).__name__} is prepared and has no components yet; call "
                "solve(accumulate(data)), partial_fit or fit"
            )
        super()._require_fitted()

    def _open(
        self, X: Any, sample_weight: Any, sequence: Any = None, groups: Any = None
    ) -> Samples:
        """Describe the data of a fit, after checking the parameters."""
        check_inputs(
            self.views,
            self.sample_dim,
            self.missing,
            self.weights,
            self.random_state,
            marginalises=self.takes.marginalises,
        )
        self._check_parameters()
        samples = self._taken(
            X,
            self.views,
            sample_dim=self.sample_dim,
            weight=sample_weight,
            sequence=sequence,
            groups=groups,
        )
        samples = with_meaning(samples, self.weights)
        if self.only_view is None or self.views is not None:
            return samples
        return samples.with_views(Views.together(self.only_view, samples.features))

    def _run(
        self,
        samples: Samples,
        script: SizedScript,
        passes: Iterable[PlannedPass],
        methods: Iterable[PlannedMethod] = (),
        **options: Unpack[RunOptions],
    ) -> Ran:
        """Run a script with these passes. The options are documented in `fit`."""
        sizes = [planned.size(samples.rows) for planned in passes]
        alternatives = [planned.cost(samples.rows) for planned in methods]
        smaller = memory_parameters(type(self).__name__)
        return run_script(samples, script, sizes, self.missing, alternatives, smaller, **options)

    def _sum(self, X: Any, name: str, statistic: Statistic[Any], options: RunOptions) -> Any:
        """Return the result of one pass of a fitted model over data."""
        pass_ = Pass(name, statistic)
        ran = self._run(self._open_again(X), single_pass(pass_), [PlannedPass(pass_)], **options)
        return ran.result

    def _remember(self, samples: Samples, ran: Ran) -> None:
        """Set the attributes that describe the run of a fit."""
        self.diagnostics_["data"] = samples.describe()
        self.diagnostics_["rows"] = samples.rows
        self.diagnostics_["rows_left_out"] = ran.rows_left_out
        self.diagnostics_["plan"] = {
            key: value for key, value in asdict(ran.plan).items() if key != "passes"
        }
        self.diagnostics_["passes"] = ran.passes
        self.diagnostics_ = plain(self.diagnostics_)

    def _adopt_features(self, views: NamedViews, categories: Mapping[str, tuple[str, ...]]) -> None:
        """Set the attributes that describe features without names, of a model made elsewhere."""
        features = [name for _, members in views for name in members]
        self.views_ = Views.resolve({name: list(members) for name, members in views}, features)
        self.n_features_in_ = len(features)
        self.categories_ = dict(categories)

    def _adopt_features_of(self, whole: ModelContract, features: Sequence[str]) -> None:
        """Set the attributes that describe some features of another fitted model."""
        in_data = [whole.views_.feature_names[place] for place in np.argsort(whole.views_.order)]
        names = [name for name in in_data if name in features]
        self.views_ = Views.resolve({name: [name] for name in features}, names)
        self.n_features_in_ = len(names)
        if hasattr(whole, "feature_names_in_"):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if hasattr(whole, "categories_"):
            self.categories_ = {name: whole.categories_[name] for name in names}

    def _remember_features(self, X: Any, samples: Samples, views: Views) -> None:
        """Set the attributes that describe the features of a fit."""
        self.views_ = views
        self.n_features_in_ = len(samples.features)
        if samples.categories is not None:
            self.categories_ = dict(samples.categories)
        if is_named(X):
            self.feature_names_in_ = np.asarray(samples.features, dtype=object)
        elif not is_plain(X) and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


def shape_of(samples: Samples) -> DataShape:
    """Return the size, names and types of the samples."""
    named = samples.categories
    return DataShape(
        samples.rows,
        samples.views.features,
        str(samples.dtype),
        samples.has_weight,
        samples.effective_rows,
        samples.weights_repeat_rows,
        samples.has_common_units,
        samples.left_out_by_default,
        tuple(named[feature] for feature in samples.views.feature_names) if named else (),
        () if samples.groups is None else samples.groups.names,
    )
