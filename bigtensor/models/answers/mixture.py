"""Answers of every mixture: labels, probabilities, log-densities, weights of groups, samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import DataError, NoPopulationsError, ParameterError, Setting
from bigtensor.models.answers.density import LogDensityAnswers
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.models.answers.populations_of_rounds import kept_populations
from bigtensor.models.answers.suggested_names import SuggestedNames, suggested_names
from bigtensor.models.answers.weights_by import weights_of_groups
from bigtensor.models.contract.containers import RowAnswer
from bigtensor.models.contract.parameters import RandomState, check_choice, check_integer
from bigtensor.models.contract.run import RunOptions
from bigtensor.models.words.mixture_description import MixtureDescription
from bigtensor.statistics.densities.row_functions import Responsibilities

POPULATIONS = "population_of_component"
"""Attribute of labels: the population of every component when they were predicted."""

LEVELS = ("population", "component")

_NOT_COMPARED = (
    "no halves of the rows were compared in this fit: it has one component, another criterion than "
    "'levels', or an earlier version; fit again with several components, merged by levels"
)


class MixtureAnswers(LogDensityAnswers):
    """Base of mixtures: a hidden label for every row, with a probability.

    If components are merged into populations, labels are numbers of populations.
    """

    description: ClassVar[MixtureDescription[Any]] = MixtureDescription()

    n_components: int | str
    weights_: NDArray[np.float64]
    solution_: FittedMixture

    @property
    def population_of_component_(self) -> NDArray[np.intp]:
        """Population of every component: ``(k,)``. Only with populations."""
        return self._require_populations().of_component

    @property
    def population_weights_(self) -> NDArray[np.float64]:
        """Mixing weights of the populations, descending. Only with populations."""
        return self._require_populations().weights

    @property
    def population_names_(self) -> NDArray[np.object_]:
        """Names of the populations, or of the components if the model has no populations.

        Without a name, it is the number as text. Without populations, the names of the classes are
        those of the components, if the model was fitted with labels of rows.
        """
        return np.array(self._present_populations().shown_names, dtype=object)

    @property
    def population_stability_(self) -> NDArray[np.float64]:
        """Stability of every population over fits of halves of the rows: ``(populations,)``.

        Eight random halves of a sample of the rows are fitted and merged. Stability is the largest
        Jaccard index with a population of a half (rows in both, divided by rows in either),
        averaged over the halves. Populations below 0.6 seldom agree with a class. NaN if halves
        hold too few rows, or if a population is in no cut of the tree. Only if halves of the rows
        were compared.
        """
        # without a tree, populations were made by hand, and no halves could be compared
        self._require_tree()
        stability = self._require_populations().stability
        if stability is None:
            raise NoPopulationsError(_NOT_COMPARED)
        return stability

    @property
    def merge_tree_(self) -> MergeTree:
        """Tree of merged components. Only if components were merged by a criterion."""
        return self._require_tree()

    @property
    def population_counts_(self) -> xr.Dataset:
        """Numbers of populations that were compared. Only if halves of the rows were compared.

        Along ``n_populations``: ``agreement`` is the mean over rows of the largest Jaccard index of
        their population with one of a fit of half of the rows, cut into the same number,
        ``stability`` the mean over rows of the stability of their population,
        ``misclassification`` the part of the rows of the two most similar populations that is taken
        for the other, and ``score`` what ``"auto"`` goes by.
        ``about_equally_good`` is True for the number that was chosen, and for numbers whose score
        is within one standard error of the best. The attribute ``chosen`` is the number of
        ``cut_populations("auto")``.
        """
        self._require_tree()
        comparison = self.diagnostics_.get("population_count", {})
        if "stability" not in comparison:
            raise NoPopulationsError(_NOT_COMPARED)
        counts = np.array(comparison["counts"], np.int64)
        good = np.isin(counts, [comparison["chosen"], *comparison["as_good"]])
        names = ("agreement", "stability", "misclassification", "score")
        columns = {name: comparison[name] for name in names}
        return xr.Dataset(
            {
                name: ("n_populations", values)
                for name, values in (*columns.items(), ("about_equally_good", good))
            },
            {"n_populations": counts},
            {"chosen": comparison["chosen"]},
        )

    def rename_populations(self, names: Mapping[int | str, str | None]) -> Self:
        """Name populations. The names are kept in the model and shown wherever populations are.

        A model without populations gets one for every component. A name belongs to the components
        of its population: a cut that divides them, or unites them with others, drops the name.
        Labels remain integers. Their attribute ``categories`` lists the names.

        Parameters
        ----------
        names : mapping of int or str to str or None
            New name by number or by present name. None removes a name. Other populations keep
            theirs.

        Returns
        -------
        self
            The model itself.

        Raises
        ------
        ParameterError
            When there is no such population, a name is empty or a whole number other than the
            number of its population, or two populations have one name.

        Examples
        --------
        >>> from bigtensor import KernelMixture, simulate
        >>> cells = simulate.cytometry(5000, 3, random_state=1)
        >>> model = KernelMixture(3, random_state=0).fit(cells)
        >>> model.rename_populations({0: "B", 2: "CD4+ CD8-"}).population_names_.tolist()
        ['B', '1', 'CD4+ CD8-']
        """
        populations = self._present_populations()
        with self._explaining_suggestions(names):
            return self._with_populations(populations.renamed(names))

    def suggest_population_names(self) -> list[str]:
        """Return a different name for every population by its markers, such as ``"CD3+ CD4-"``.

        A feature is used if its density over all populations has two modes. Its threshold is the
        lowest point between them, and a population is positive (+) or negative (-) if at least 70 %
        of its rows lie on one side. Densities of the model are used, so that no data are read. The
        order, the unit and the origin of the features change no name.

        Returns
        -------
        list of str
            In the order of the populations, or of the components without populations. Texts are
            empty if no feature has two modes. Categories have no sign. Names tell the present
            populations apart, so that a merge or a cut may change those of other populations.
        """
        return list(self._suggestions().names)

    def _suggestions(self) -> SuggestedNames:
        """Return the suggested names with their thresholds."""
        populations, features = self._present_populations(), self.views_.feature_names
        return suggested_names(self._mixture(), populations.of_component, features)

    def merge_populations(self, *groups: Sequence[int | str]) -> Self:
        """Make one population of several, by hand and without another fit.

        Populations are then numbered by descending weight. The merged population keeps a name if
        exactly one of its parts has one. If the model has a tree of components,
        `cut_populations` starts from it again and undoes the merge. Without a tree, nothing undoes
        it: save the model before.

        Parameters
        ----------
        *groups : sequences of int or str
            Each holds the numbers, or present names, of the populations that become one.

        Returns
        -------
        self
            The model itself.

        Raises
        ------
        ParameterError
            When there is no such population, it is in two groups, or a group has fewer than two.

        Examples
        --------
        >>> from bigtensor import KernelMixture, simulate
        >>> cells = simulate.cytometry(5000, 3, random_state=1)
        >>> model = KernelMixture(3, random_state=0).fit(cells)
        >>> len(model.merge_populations([0, 2]).population_weights_)
        2
        """
        if not groups:
            raise ParameterError(
                "merge_populations needs at least one group; give the populations to merge as "
                "lists, such as merge_populations([2, 18])"
            )
        populations = self._present_populations()
        with self._explaining_suggestions(chain.from_iterable(groups)):
            return self._with_populations(populations.merged(groups))

    @contextmanager
    def _explaining_suggestions(self, keys: Iterable[int | str]) -> Iterator[None]:
        """Say of a suggested name that is used like a present one that it is a suggestion."""
        keys = [*keys]
        try:
            yield
        except ParameterError as error:
            suggested = self.suggest_population_names()
            texts = [key.strip() for key in keys if isinstance(key, str)]
            for name in texts:
                if name in suggested and name not in self.population_names_:
                    raise ParameterError(
                        f"{name!r} is a suggested name only, and no population has it yet; use "
                        f"the number {suggested.index(name)}, or name the population with "
                        "rename_populations or 'bigtensor name'"
                    ) from error
            raise

    def cut_populations(self, n_populations: int | str) -> Self:
        """Cut the tree of components into another number of populations, without another fit.

        Populations that stay the same set of components keep their names.

        Parameters
        ----------
        n_populations : int or "auto"
            Number of populations, or ``"auto"`` for the number that the tree suggests.

        Returns
        -------
        self
            The model itself, with other populations.

        Raises
        ------
        ParameterError
            When there are fewer components, or components were not merged.
        """
        self._require_tree()
        if n_populations != "auto":
            check_integer("n_populations", n_populations, 1, len(self.weights_))
        return self._with_populations(self._require_populations().recut(n_populations))

    def predict(self, X: DataLike, level: str | None = None) -> RowAnswer:
        """Return the most probable population, or component, of every row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        level : {"population", "component"}, optional
            By default populations if the model has any.

        Returns
        -------
        (rows,) int32 array, DataArray or dask array
            Labels in the kind of container of ``X``, lazy if ``X`` is lazy. Rows that were left out
            have -1. After a fit with labels of rows, components are positions in ``classes_``, and
            ``model.classes_[model.predict(X)]`` are labels of the kind of ``y``.
        """
        return self.row_output(X, self._output("label", "component_label", level))

    def predict_proba(self, X: DataLike, level: str | None = None) -> RowAnswer:
        """Return the posterior probability of every population, or component.

        The probability that a row of these values comes from the component, if the densities of
        the fit are right. It says nothing about whether a population is a kind of its own, such as
        a cell type. Where components are merged into populations, `population_stability_` tells
        more about that. If features depend on each other within components, the largest probability
        of a population is smaller than the sum of the probabilities of its components
        (``diagnostics_["probability_temperature"]``). Labels are the same.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        level : {"population", "component"}, optional
            By default populations if the model has any.

        Returns
        -------
        (rows, populations or components) float32 array, DataArray or dask array
            Probabilities in the kind of container of ``X``, lazy if ``X`` is lazy.
        """
        return self.row_output(X, self._output("probability", "component_probability", level))

    def fit_predict(
        self, X: DataLike, y: str | RowVariableLike | None = None, **fit_parameters: Any
    ) -> RowAnswer:
        """Fit the model and return the label of every row."""
        labels: RowAnswer = self.fit(X, y, **fit_parameters).predict(X)
        return labels

    def weights_by(
        self,
        X: DataLike,
        by: str | RowVariableLike = "sample_id",
        *,
        sample_weight: RowVariableLike | None = None,
        level: str | None = None,
        **options: Unpack[RunOptions],
    ) -> xr.Dataset:
        """Return the mixing weights of every patient, file or other group, with standard errors.

        The weights of a group have the largest likelihood of its rows under the densities of the
        fit. They are found in two to six passes over the data: one for posterior probabilities, the
        others for Newton steps, until no step is longer than a quarter of a standard error. Groups
        that have settled are not computed again. Populations keep the proportions of their
        components.

        If labels of the rows are clearly more or less certain than expected under the densities,
        because features depend on each other within components, every class is scaled by one
        factor for all groups, so that the weights of all rows together are the shares of labels.
        The attribute ``method`` says so. Weights of a group then depend on the other groups in
        ``X``, and the weights of a single group are its shares of labels.

        Groups whose rows are much less likely than rows drawn from their populations, such as a
        file of another gain, are named in a warning and in the attribute ``unlike_fit``.

        Parameters
        ----------
        X : path, xarray, dask array or array-like, or a list of these
            As for `fit`.
        by : str, or (rows,) array-like, default "sample_id"
            A variable of ``X`` along the samples, a column of ``obs`` of AnnData, or a column of a
            table, which is no feature unless the fit had it as one: integer codes with the
            attribute ``categories``, or names, strings or numbers. ``"time.month"`` is a
            part of the dates ``time``, as in ``groupby`` of xarray. In several data sets,
            groups of the same name are one group. For data in memory also the group of every row,
            as an array.
            Negative whole numbers, NaN and empty strings stand for none.
        sample_weight : (rows,) array-like, optional
            As for `fit`. By default the weights that are stored with the data.
        level : {"population", "component"}, optional
            By default populations if the model has any.
        **options
            As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``,
            ``wait_for_workers``, ``checkpoint``, ``listeners``.

        Returns
        -------
        Dataset
            ``weight`` (by, component or population) float64, every row of which sums to one,
            ``standard_error`` of the same shape, and ``rows`` (by,) int64, with the names of the
            groups, or their numbers, as the coordinate ``by`` in the order of the categories. The
            dimension ``by`` has the name of the variable. For an array without a name it is called
            ``group``.
            Groups without a row, or whose rows all have the weight zero, are left out. Standard
            errors take rows for independent and densities for known. They are zero for a weight of
            zero, and do not hold for weights of a few rows. Rows with weights w count as
            ``(sum w)^2 / sum w^2`` rows.
            The attribute ``rows_without`` counts rows without a group.

        Raises
        ------
        DataError
            When there is no such variable, it is a measurement, or no row can be used.
        ParameterError, PlanError, ClusterError
            See `bigtensor.errors`. Every message names a remedy.

        Warns
        -----
        WeightWarning
            When the rows of the fit had weights, and these rows have none.

        Examples
        --------
        >>> from bigtensor import KernelMixture, simulate
        >>> cells = simulate.cytometry(5000, 3, samples=2, random_state=1)
        >>> model = KernelMixture(3, random_state=0).fit(cells)
        >>> model.weights_by(cells)["weight"].dims
        ('sample_id', 'component')
        """
        return weights_of_groups(self, X, by, sample_weight, level, options)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> tuple[Any, Any]:
        """Draw rows from the fitted mixture.

        Parameters
        ----------
        n_samples : int
            Number of rows to draw.
        random_state : int, RandomState or Generator, optional
            None stands for the seed of the model.

        Returns
        -------
        X : (n_samples, features) float64 or int32 array
            Features in the order of the data of the fit, unless some were not used. Measured values
            are float64. `DiscreteMixture` draws int32 codes of categories: the code c of a feature
            stands for ``model.categories_[feature][c]``.
        label : (n_samples,) int32 array
            At the level of `predict`.
        """
        fitted = self._mixture()
        check_integer("n_samples", n_samples, 1)
        values, label = fitted.draw(n_samples, self._generator(random_state))
        populations = fitted.populations
        if populations is not None:
            label = populations.of_component[label].astype(np.int32)
        return values[:, np.argsort(self.views_.order)], label

    def row_function(self, outputs: tuple[str, ...]) -> Responsibilities:
        """Return the function that answers for every row."""
        fitted = self._mixture()
        mixture, populations = fitted.mixture(), fitted.populations
        if populations is None:
            return Responsibilities(mixture, outputs)
        return Responsibilities(
            mixture,
            outputs,
            populations.of_component,
            populations.temperature,
            populations.whole,
        )

    def _mixture(self) -> FittedMixture:
        """Return the solution, or raise sklearn's NotFittedError."""
        self.require_fitted()
        return self.solution_

    def _output(self, plain: str, of_component: str, level: str | None) -> str:
        """Return the name of an output at a level."""
        self.require_fitted()
        if level is not None:
            check_choice("level", level, LEVELS)
        if level == "population":
            self._require_populations()
        merged = self._mixture().populations is not None
        return of_component if level == "component" and merged else plain

    def attributes_of_output(self, output: str) -> dict[str, Any]:
        """Return the names that labels stand for, as ``categories``, and their components."""
        if output != "label":
            return super().attributes_of_output(output)
        populations = self._present_populations()
        return {
            "categories": list(populations.shown_names),
            # labels are told by it from those of another cut or merge
            POPULATIONS: populations.of_component.tolist(),
        }

    def require_own_labels(self, attrs: Mapping[str, Any]) -> None:
        """Refuse labels that were predicted before populations were cut or merged.

        Parameters
        ----------
        attrs : mapping
            Attributes of labels. Those without a record of populations are not refused.

        Raises
        ------
        DataError
        """
        present = self._present_populations().of_component.tolist()
        # NetCDF files hold a list of one number as a number
        if np.atleast_1d(attrs.get(POPULATIONS, present)).tolist() != present:
            raise DataError(
                "the populations of the model were cut or merged after these labels were "
                "predicted; predict the labels again"
            )

    def solution_without_choices(self) -> Any:
        """Return the solution without populations, which names, cuts and merges change.

        `require_own_labels` compares the cut, and names are read from the model.
        """
        return replace(self._mixture(), populations=None)  # type: ignore[type-var]

    def keep_choices_of(self, previous: FittedMixture) -> None:
        """Keep names, cuts and merges by hand of the solution of an earlier round."""
        kept = kept_populations(previous, self.solution_)
        self.solution_ = replace(self.solution_, populations=kept)  # type: ignore[type-var]

    def _with_populations(self, populations: Populations) -> Self:
        """Set the populations of the solution."""
        self.solution_ = replace(self._mixture(), populations=populations)  # type: ignore[type-var]
        return self

    def _present_populations(self) -> Populations:
        """Return the populations, or every component as one."""
        populations = self._mixture().populations
        if populations is not None:
            return populations
        return Populations.of_components(self.weights_, getattr(self, "classes_", ()))

    def _require_tree(self) -> MergeTree:
        """Return the tree of merged components, or say that there is none."""
        tree = self._require_populations().tree
        if tree is None:
            raise NoPopulationsError(
                "this model has no tree of components, because its populations were made by hand; "
                "merge populations by number, or fit it with " + Setting("n_populations")
            )
        return tree

    def _require_populations(self) -> Populations:
        """Return the populations, or say that there are none."""
        populations = self._mixture().populations
        if populations is None:
            raise NoPopulationsError(
                "this model has no populations; fit it with "
                + Setting("n_populations")
                + ", so that its components are merged"
            )
        return populations
