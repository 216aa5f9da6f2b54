"""A fitted model: its features, its answers for rows, and its saved form."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bigtensor._version import __version__
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.rows.code_maps import Categories
from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.data.rows.row_sequences import Lengths
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views, ViewsLike
from bigtensor.data.stores.layout import FEATURE_DIM, MATRIX
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.data.values.import_record import ImportRecord
from bigtensor.data.values.kinds import Kind
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.data.values.random_states import integer_seed, is_drawn_from
from bigtensor.data.values.sample_weight_meanings import COUNTS
from bigtensor.engine.events import Listener
from bigtensor.engine.plan import Plan, make_plan
from bigtensor.engine.runtime import Processes
from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.models.contract.containers import RowAnswer, is_named, scikit_learn_table
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.data_shape import DataShape, NamedViews
from bigtensor.models.contract.declarations import (
    Parameter,
    memory_parameters,
    options_classes,
    restored_values,
)
from bigtensor.models.contract.model_files import (
    digest_of_arrays,
    model_contents,
    restore_model,
)
from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.models.contract.parameters import RandomState, check_missing_rule, plain
from bigtensor.models.contract.rounds import Rounds
from bigtensor.models.contract.row_answers import answer_as_given, write_answers
from bigtensor.models.contract.run import Ran, RunOptions, WhereOptions, run_script
from bigtensor.models.contract.script import (
    PlannedPass,
    SizedScript,
    single_pass,
)
from bigtensor.models.contract.statistics_file import Part, Statistics
from bigtensor.models.words.description import ModelDescription
from bigtensor.models.words.notebook_summary import summary_html
from bigtensor.pickled_version import PickledVersion
from bigtensor.statistics.base import Pass, RowFunction, Statistic
from bigtensor.store import Contents, description_errors, write_group

FIT_DIGEST = "fit_digest"
"""Attribute of answers with the digest of the fitted arrays of their model."""


class FittedModel(PickledVersion, BaseEstimator, ABC):  # type: ignore[misc]
    """Features, answers and saved form of a fitted model.

    Attributes
    ----------
    solution_ : dataclass
        Result of the fit, as it is saved.
    views_ : Views
        The views as they were found in the data.
    diagnostics_ : dict
        Every decision taken on the way.
    matrix_ : str or None
        Matrix of AnnData of the fit: ``X``, ``layers/counts``, ``obsm/X_pca``. Answers for AnnData
        read this matrix. None for other data.
    import_record_ : ImportRecord or None
        Transform and compensation of the import of the data of the fit. Answers refuse data whose
        import differs. None for data without a record.
    feature_dim_ : str
        Name of the dimension of the features in the data of the fit, ``feature`` for data without
        names of dimensions.
    """

    declares: ClassVar[tuple[Parameter, ...]] = ()
    """Parameters of the model besides those that all models have."""

    takes: ClassVar[Data]
    """Data that the model takes."""

    stored_classes: ClassVar[tuple[type, ...]]
    """Dataclasses that the preparation, the passes and the solution of the model are made of."""

    description: ClassVar[ModelDescription[Any]] = ModelDescription()
    """Facts and words for the command line, notebooks and the report."""

    views: ViewsLike | None
    missing: str
    weights: str = COUNTS
    sample_dim: str
    random_state: RandomState
    solution_: Any
    views_: Views
    n_features_in_: int
    categories_: dict[str, tuple[str, ...]]
    diagnostics_: dict[str, Any]
    statistics_: Statistics
    matrix_: str | None = None
    import_record_: ImportRecord | None = None
    feature_dim_: str = FEATURE_DIM

    _rounds: Rounds | None = None
    """The passes of a fit in rounds; None unless the model was prepared."""

    _fit_digest: str | None = None
    """Digest of the fitted arrays; None until answers with attributes are made."""

    _drawn_seed: int = 0
    """Seed of the last fit, where `random_state` is a RandomState or Generator."""

    @abstractmethod
    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row.

        Parameters
        ----------
        outputs : tuple of str
            Names of the answers, such as ``("label",)``, each once. The `outputs` of the function
            have these names and no others.

        Raises
        ------
        ParameterError
            When the model has no answer of a name; see `check_choice`.
        """

    @abstractmethod
    def set_fitted_attributes(self, solution: Any) -> None:
        """Set the attributes of a fitted model that users read, besides `solution_`.

        Parameters
        ----------
        solution : dataclass
            Result of the fit.
        """

    def row_output(
        self,
        X: DataLike,
        output: str,
        function: RowFunction | None = None,
        *,
        unseen: frozenset[str] = frozenset(),
        sequence: str | RowVariableLike | Lengths | None = None,
        missing: str | None = None,
    ) -> RowAnswer:
        """Return one output for every row, in the kind of container that ``X`` is.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        output : str
            Name of the output.
        function : RowFunction, optional
            Function that gives the output; by default `row_function`.
        unseen : frozenset of str
            Views that the function does not see, and that may be missing.
        sequence : optional
            The sequence of every row, for models of sequences.
        missing : {"raise", "omit", "marginalise"}, optional
            Rule for rows with missing values; by default that of the model.

        Returns
        -------
        array, DataArray or dask array
            Lazy if ``X`` is lazy.
        """
        self.require_fitted()
        samples = open_for_answers(self, X, unseen, sequence=sequence)
        function = self.row_function((output,)) if function is None else function
        return answer_as_given(self, X, samples, output, function, missing=missing)

    def sum_rows(
        self,
        X: DataLike,
        name: str,
        statistic: Statistic[Any],
        *,
        sample_weight: RowVariableLike | None = None,
        **options: Unpack[RunOptions],
    ) -> Any:
        """Return the result of one pass of a fitted model over rows.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        name : str
            Name of the pass, shown as progress.
        statistic : Statistic
            Arrays that add up over rows.
        sample_weight : (rows,) array-like, optional
            By default the weights that are stored with the data.
        **options
            As for `fit`.
        """
        self.require_fitted()
        pass_ = Pass(name, statistic)
        samples = open_for_answers(self, X, sample_weight=sample_weight)
        return self.run_passes(samples, single_pass(pass_), [PlannedPass(pass_)], **options).result

    def run_passes(
        self,
        samples: Samples,
        script: SizedScript,
        passes: Iterable[PlannedPass],
        **options: Unpack[RunOptions],
    ) -> Ran:
        """Run a script with these passes over rows.

        Parameters
        ----------
        samples : Samples
            Opened rows.
        script : generator
            Passes, and what is solved between them.
        passes : iterable of PlannedPass
            Upper bounds of the passes.
        **options
            As for `fit`.
        """
        sizes = [planned.size(samples.rows) for planned in passes]
        smaller = memory_parameters(self.declares)

        def plan_on(processes: Processes, *, checkpoint: bool) -> Plan:
            return make_plan(samples, sizes, processes, (), smaller, checkpoint=checkpoint)

        return run_script(samples, script, plan_on, self.missing, takes=self.takes, **options)

    def write(
        self,
        X: DataLike,
        path: str | os.PathLike[str],
        *,
        outputs: Iterable[str] | None = None,
        into: str | None = None,
        overwrite: bool = False,
        listeners: Iterable[Listener] = (),
        **where: Unpack[WhereOptions],
    ) -> Address:
        """Write answers for every row to a Zarr store, without holding them in memory.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`. Of samples that were selected by a condition, the store has all rows. Rows
            that were left out have the label -1, and NaN in place of other numbers.
        path : path or URL
            Store to make, which appears under this name when it is whole. With `into`, an existing
            store of samples, such as ``X`` itself.
        outputs : iterable of str, optional
            Any of the outputs of the model, such as ``"label"``, ``"probability"`` and
            ``"log_density"``. By default the usual ones: labels, sources or log-densities.
        into : str, optional
            Write the answers into a group of this name inside the store at `path`, which
            ``xarray.open_zarr(path, group=into)`` reads. No array of the store is touched.
        overwrite : bool, default False
            Replace a store of this name, or answers in a group of this name.
        listeners, **where
            As for `fit`: ``listeners``, ``client``, ``scheduler``, ``workers``, ``memory_limit``,
            ``wait_for_workers``.

        Returns
        -------
        Path or str
            Of the answers. A URL stays a string.

        Raises
        ------
        OutputError
            When the target exists, or cannot be written.
        ParameterError
            When an output is unknown, or named twice.
        DataError
            When the store at `path` has another number of rows than ``X``.
        """
        self.require_fitted()
        names = self.description.row_outputs(self) if outputs is None else tuple(outputs)
        if len({*names}) < len(names):
            raise ParameterError(
                Setting("outputs") + f" are {', '.join(names)}; name each of them once"
            )
        return write_answers(
            self,
            open_for_answers(self, X),
            names,
            path,
            into=into,
            overwrite=overwrite,
            listeners=listeners,
            where=where,
        )

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
            self.require_fitted()
        return model_contents(self, self._rounds, self._stored_classes())

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the model of these contents; see `to_contents`."""
        with description_errors(contents):
            saved = contents.attrs["parameters"]
            model = cls(**restored_values(saved, options_classes(cls.declares)))
            model._rounds, solution = restore_model(model, contents, cls._stored_classes())
        if solution is not None:
            model.set_solution(solution)
        return model

    def require_fitted(self) -> None:
        """Raise sklearn's NotFittedError before a fit, with the way from a preparation to one.

        Raises
        ------
        ParameterError
            When rows with missing entries are to be used, and the fitted model cannot.
        """
        if self._rounds is not None and not hasattr(self, "solution_"):
            raise NotFittedError(self._why_no_solution(self._rounds))
        check_is_fitted(self)
        check_missing_rule(self.missing, type(self).__name__, marginalises=self.marginalises)

    @property
    def marginalises(self) -> bool:
        """True if the fitted model can use the other entries of rows with missing ones."""
        return bool(self.takes.marginalises)

    def _why_no_solution(self, rounds: Rounds) -> str:
        """Return in words what a prepared model, which is not solved, needs."""
        name = type(self).__name__
        if not rounds.finished or rounds.next_pass is None:
            return (
                f"this {name} is prepared and has no components yet; call "
                "solve(accumulate(data)), partial_fit or fit"
            )
        return (
            f"this {name} is prepared and has no components yet: they need a further pass over all "
            f"rows ({rounds.next_pass.name!r}) after {rounds.finished[-1].pass_name!r}, so "
            "partial_fit, which reads every batch once, does not find them; call "
            "solve(accumulate(data)) for all rows, call fit, or choose a method that needs one pass"
        )

    def set_solution(self, solution: object) -> None:
        """Set the solution and the attributes that follow from it."""
        self.solution_ = solution
        self._fit_digest = None
        self.set_fitted_attributes(solution)

    def set_features(self, views: NamedViews, categories: Mapping[str, tuple[str, ...]]) -> None:
        """Set the attributes that describe features without names, of a model made elsewhere.

        Parameters
        ----------
        views : tuple of (name, features)
            Views of the model.
        categories : mapping of str to tuple of str
            Names of the codes of every feature.
        """
        features = [name for _, members in views for name in members]
        self.views_ = Views.resolve({name: list(members) for name, members in views}, features)
        self.n_features_in_ = len(features)
        self.categories_ = dict(categories)

    def set_features_of(
        self, whole: FittedModel, features: Sequence[str], in_data: Sequence[str] | None = None
    ) -> None:
        """Set the attributes that describe some features of another fitted model.

        Parameters
        ----------
        whole : fitted model
            Model of more features.
        features : sequence of str
            Names of the features that are kept.
        in_data : sequence of str, optional
            These features in the order of the columns of data without names, by default in the
            order of the other model.
        """
        if in_data is None:
            in_data = [whole.views_.feature_names[j] for j in np.argsort(whole.views_.order)]
        names = [name for name in in_data if name in features]
        self.views_ = Views.resolve({name: [name] for name in features}, names)
        self.n_features_in_ = len(names)
        self.matrix_ = whole.matrix_
        self.import_record_ = whole.import_record_
        self.feature_dim_ = whole.feature_dim_
        if hasattr(whole, "feature_names_in_"):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if hasattr(whole, "categories_"):
            self.categories_ = {name: whole.categories_[name] for name in names}

    def warn_of_rows(self, samples: Samples) -> None:
        """Warn of rows that the model does not suit. Most models have no warning."""

    @property
    def preferred_kind(self) -> Kind | None:
        """Kind that whole numbers are converted to. None leaves the choice to the data."""
        return None

    @property
    def categories_without_rows(self) -> Categories:
        """Categories of the fit that no row had and that the model ignores, by feature.

        Empty for a model that has a probability for them. A warning names those that later rows
        have.
        """
        return {}

    def parameters_of_fit(self) -> dict[str, Any]:
        """Return the parameters, with the integer seed in place of a RandomState or Generator."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        if is_drawn_from(self.random_state):
            parameters["random_state"] = self._seed
        return parameters

    def output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output.

        Views and parameters are JSON texts, because NetCDF files hold no mappings.
        """
        attrs = self.store_attrs()
        return attrs | {name: json.dumps(attrs[name]) for name in ("views", "parameters")}

    def store_attrs(self) -> dict[str, Any]:
        """Return the attributes of a Zarr store of answers."""
        return {
            "software": "bigtensor",
            "version": __version__,
            "model": type(self).__name__,
            "views": self.views_.as_mapping(),
            "parameters": plain(self.parameters_of_fit()),
            FIT_DIGEST: self._digest_of_fit(),
            **({} if self.matrix_ is None else {MATRIX: self.matrix_}),
        }

    def require_own_fit(self, attrs: Mapping[str, Any]) -> None:
        """Refuse answers of another fit, even of one with equal parameters.

        Parameters
        ----------
        attrs : mapping
            Attributes of answers. Those without a digest, which earlier versions wrote, are not
            refused.

        Raises
        ------
        DataError
        """
        if attrs.get(FIT_DIGEST, self._digest_of_fit()) != self._digest_of_fit():
            raise DataError(
                f"the labels were made by another fit of {type(self).__name__}, and this model "
                "holds other fitted numbers; give the model that predicted the labels, or predict "
                "the labels again with this model"
            )

    def solution_without_choices(self) -> Any:
        """Return the solution without what a user may change after the fit, such as names."""
        return self.solution_

    def _digest_of_fit(self) -> str:
        """Return the digest of the fitted arrays, which is computed once for a fit."""
        if self._fit_digest is None:
            solution = self.solution_without_choices()
            self._fit_digest = digest_of_arrays(solution, self._stored_classes())
        return self._fit_digest

    def attributes_of_output(self, output: str) -> dict[str, Any]:  # noqa: ARG002
        """Return further attributes of one output, such as the names that labels stand for.

        Parameters
        ----------
        output : str
            Name of the output.
        """
        return {}

    def names_of_codes(self) -> dict[str, Any]:
        """Return the attribute of answers that are codes; empty for a fit to other data."""
        categories = getattr(self, "categories_", {})
        names = {feature: list(texts) for feature, texts in categories.items()}
        return {ATTRIBUTE: names} if names else {}

    def __sklearn_is_fitted__(self) -> bool:
        """Return True if the model can answer. A prepared one knows its views only."""
        return hasattr(self, "solution_")

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: missing values, categories and names that are taken."""
        tags: Tags = super().__sklearn_tags__()
        kinds = {self.preferred_kind} if self.preferred_kind else self.takes.kinds
        tags.input_tags.string = "codes" in kinds
        tags.input_tags.categorical = kinds == {"codes"}
        tags.input_tags.allow_nan = self.missing in ("omit", MARGINALISE)
        return tags

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Diagram of scikit-learn with a summary, for notebooks that ask for no MIME bundle."""
        diagram = super()._repr_html_
        return lambda: self._with_summary(diagram())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what notebooks show: text, and the diagram with a summary."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_summary(bundle["text/html"])
        return bundle

    def _with_summary(self, diagram: str) -> str:
        """Return scikit-learn's diagram, with a summary once there is something to tell."""
        if not self.__sklearn_is_fitted__():
            return diagram
        body, end, after = diagram.partition("</body>")
        return body + summary_html(self) + end + after

    @classmethod
    def _stored_classes(cls) -> tuple[type, ...]:
        """Return the dataclasses that a saved model is made of."""
        return (*cls.stored_classes, DataShape, Views, Rounds, Statistics, Part, Pass)

    @property
    def _seed(self) -> int:
        """Integer seed of the random choices.

        If `random_state` is a RandomState or Generator, it is the seed that the last fit drew, and
        0 before a fit.
        """
        state = self.random_state
        return self._drawn_seed if is_drawn_from(state) else integer_seed(state)

    def _seed_of_draw(self, random_state: RandomState = None) -> int:
        """Return the integer seed of a draw. None stands for the seed of the model."""
        return self._seed if random_state is None else integer_seed(random_state)

    def _generator(self, random_state: RandomState = None) -> np.random.Generator:
        """Return the generator of a draw. None stands for the seed of the model."""
        return np.random.default_rng(self._seed_of_draw(random_state))

    def _remember_features(self, X: DataLike, samples: Samples, views: Views) -> None:
        """Set the attributes that describe the features of a fit."""
        self.views_ = views
        self.n_features_in_ = len(samples.features)
        self.matrix_ = samples.matrix
        self.import_record_ = samples.record
        self.feature_dim_ = samples.feature_dim
        if samples.categories is not None:
            self.categories_ = dict(samples.categories)
        if is_named(X):
            self.feature_names_in_ = np.asarray(samples.features, dtype=object)
        elif scikit_learn_table(X) is None and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
