"""Every public law is broken by something, and says so."""

import itertools
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray as xr

from bigtensor import GaussianMixture
from bigtensor.data.opening import open_samples
from bigtensor.errors import DataError, WeightWarning, warn
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.declarations import Parameter, Whole
from bigtensor.models.contract.script import PlannedPass, Solved
from bigtensor.statistics.base import Pass
from bigtensor.statistics.row_sample import RowSample
from bigtensor.testing import (
    MODEL_LAWS,
    ROW_FUNCTION_LAWS,
    STATISTIC_LAWS,
    ModelCase,
    RowFunctionCase,
    StatisticCase,
    check_model,
    check_row_function,
    check_statistic,
    small_data,
)
from tests.laws.small_model import (
    Description,
    Moments,
    Origin,
    PowerSums,
    Standardised,
    Standardiser,
    planned_refinement,
    refine,
)

KINDS = ("measured", "codes", "counts")
DATA = small_data("measured", 90)
CODES = small_data("codes", 90)
WEIGHTED = open_samples(DATA, weight=np.linspace(0, 2, 90))


def law_named(laws, name):
    (found,) = [law for law in laws if law.__name__ == name]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases("measured")
def test_small_model__obeys_all_laws_on_every_kind_of_data(kind):
    check_model(Standardiser, small_data(kind, 300))
    check_statistic(PowerSums(np.ones(4), 2), small_data(kind))
    check_row_function(Standardised(np.ones(4), np.ones(4)), small_data(kind))


def test_variant__has_its_own_parameters_and_attributes():
    case = ModelCase(Standardiser, DATA).variant({"missing": "omit"}, any_origin=False)
    assert case.make().missing == "omit"
    assert (case.any_unit, case.any_origin, case.data is DATA) == (True, False, True)


class BrokenInit(PowerSums):
    def init(self):
        return {name: array + 1 for name, array in super().init().items()}


class BrokenCombine(PowerSums):
    def combine(self, left, right):
        return {name: np.asarray((left[name] + right[name]) / 2) for name in left}


class InPlaceCombine(PowerSums):
    def combine(self, left, right):
        for name in left:
            left[name] += right[name]
        return left


class SumOfBlockMeans(PowerSums):
    def update(self, state, block, _work):
        if block.rows:
            state["sums"] += block.values[: block.rows].mean(axis=0)


class CountsBlocks(PowerSums):
    def update(self, state, block, work):
        super().update(state, block, work)
        state["weight"] += 1


class WritesBlock(PowerSums):
    def update(self, state, block, work):
        super().update(state, block, work)
        block.values[: block.rows] -= self.centre


class KeepsWindow(PowerSums):
    def update(self, state, block, _work):
        if block.rows:
            state["sums"] = block.values[0]


class LooksPastRows(PowerSums):
    def update(self, state, block, _work):
        state["sums"] += block.values.sum(axis=0)


class OtherPickle(PowerSums):
    def __reduce__(self):
        return type(self), (self.centre + 1, self.power)


class LargeState(PowerSums):
    def state_nbytes(self):
        return 8


class LargeWork(PowerSums):
    def update(self, _state, block, work):
        work.take("values", (block.rows, 9), "f8")

    def work_nbytes(self, rows):
        return 8 * rows


class NoWeights(PowerSums):
    def update(self, state, block, _work):
        state["sums"] += (block.values[: block.rows] ** self.power).sum(axis=0)


@pytest.mark.parametrize(
    ("name", "broken", "words"),
    [
        (
            "the_initial_state_is_the_identity",
            BrokenInit,
            "combined with init.*'sums' differs",
        ),
        ("combine_is_associative", BrokenCombine, r"against a \+ \(b \+ c\)"),
        ("combine_is_pure", InPlaceCombine, "after it was combined"),
        ("any_cut_gives_the_same", SumOfBlockMeans, "state of several blocks.*4 of 4 entries"),
        ("an_empty_block_changes_nothing", CountsBlocks, "'weight' differs in 1 of 1"),
        ("blocks_are_not_modified", WritesBlock, "block after update: 'values' differs"),
        ("the_state_keeps_no_window_on_a_block", KeepsWindow, "buffers .* were filled again"),
        ("only_the_rows_of_a_block_count", LooksPastRows, "shows more rows"),
        ("a_pickled_copy_gives_the_same_bits", OtherPickle, "the digest of the copy is another"),
        ("declared_sizes_hold", LargeState, r"40 bytes, state_nbytes\(\) is 8"),
        ("declared_sizes_hold", LargeWork, r"holds 3,240 bytes, work_nbytes\(45\) is 360"),
        ("a_weight_of_two_is_a_row_twice", NoWeights, "against repeated rows: 'sums' differs"),
    ],
)
def test_statistic_law__is_broken(name, broken, words):
    case = StatisticCase(broken(np.ones(4), 1), WEIGHTED)
    law = law_named(STATISTIC_LAWS, name)
    law(StatisticCase(PowerSums(np.ones(4), 1), WEIGHTED))
    with pytest.raises(AssertionError, match=rf"law broken, {name.replace('_', ' ')}: .*{words}"):
        law(case)


def test_check_statistic__stops_at_the_first_broken_law():
    with pytest.raises(AssertionError, match="any cut gives the same: SumOfBlockMeans"):
        check_statistic(SumOfBlockMeans(np.ones(4), 1), DATA)
    with pytest.raises(AssertionError, match="row twice: NoWeights"):
        check_statistic(NoWeights(np.ones(4), 1), DATA)
    check_statistic(NoWeights(np.ones(4), 1), DATA, unweighted=None)
    check_statistic(NoWeights(np.ones(4), 1), DATA, unweighted=("sums",))


class SkipsRow(Standardised):
    def evaluate(self, block, out, _work):
        out["standardised"][1:] = (block.values[1 : block.rows] - self.mean) / self.spread


class AnswersByBlock(Standardised):
    def evaluate(self, block, out, _work):
        values = block.values[: block.rows]
        out["standardised"][:] = values - (values.mean(axis=0) if block.rows else 0)


class WritesRows(Standardised):
    def evaluate(self, block, out, _work):
        values = block.values[: block.rows]
        values -= self.mean
        out["standardised"][:] = values


class ReadsWorkspace(Standardised):
    def evaluate(self, block, out, work):
        known = "seen" in work._buffers
        work.take("seen", (1,), "f8")
        out["standardised"][:] = block.values[: block.rows] + known


class OtherPickledFunction(Standardised):
    def __reduce__(self):
        return type(self), (self.mean + 1, self.spread)


class LargeWorkOfRows(Standardised):
    def evaluate(self, block, _out, work):
        work.take("values", (block.rows, 5), "f8")

    def work_nbytes(self, rows):
        return 8 * rows


@pytest.mark.parametrize(
    ("name", "broken", "words"),
    [
        ("every_entry_is_written", SkipsRow, "arrays of ones.*differs in 4 of 360"),
        ("any_cut_gives_the_same_answers", AnswersByBlock, "several blocks.*'standardised'"),
        ("a_block_is_not_modified", WritesRows, "block after evaluate"),
        ("a_used_workspace_changes_nothing", ReadsWorkspace, "used before.*360 of 360"),
        ("a_pickled_copy_gives_the_same_answers", OtherPickledFunction, "output of the copy"),
        ("the_declared_workspace_holds", LargeWorkOfRows, r"3,600 bytes, work_nbytes\(90\) is 720"),
    ],
)
def test_row_function_law__is_broken(name, broken, words):
    law = law_named(ROW_FUNCTION_LAWS, name)
    with pytest.raises(AssertionError, match=rf"law broken, {name.replace('_', ' ')}: .*{words}"):
        law(RowFunctionCase(broken(np.ones(4), np.ones(4)), DATA))


class ChangesParameters(Standardiser):
    def __init__(self, views=None, missing="raise", sample_dim="sample", random_state=None):
        super().__init__(views, missing, "counts", sample_dim, random_state and 1)


class DeclaresLess(Standardiser):
    def __init__(
        self,
        depth=1,
        views=None,
        missing="raise",
        weights="counts",
        sample_dim="sample",
        random_state=None,
    ):
        super().__init__(views, missing, weights, sample_dim, random_state)
        self.depth = depth


class DeclaresMore(Standardiser):
    declares = (Parameter("width", 2, Whole()),)


class DeclaresAnotherDefault(DeclaresLess):
    declares = (Parameter("depth", 2, Whole()),)


class NeedsFitToBeShown(Standardiser):
    def __repr__(self):
        return f"mean {self.mean_}"


class AnswersUnfitted(Standardiser):
    def transform(self, X):
        return X


class ReturnsNothing(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)


class ArrayAsFact(Description):
    def facts(self, model):
        return {**super().facts(model), "mean": model.mean_}


class LineWithoutName(Description):
    def lines(self, _facts):
        yield "means are far from zero"


class HasArrayAsFact(Standardiser):
    description = ArrayAsFact()


class HasLineWithoutName(Standardiser):
    description = LineWithoutName()


class WritesData(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        X[0] = 0
        return self


fits = itertools.count(1)


def refine_and_remember(preparation):
    solved = yield from refine(preparation)
    return Solved(Moments(solved.fitted.mean, solved.fitted.spread * next(fits)), {"spread": 1})


class Remembers(Standardiser):
    steps = replace(Standardiser.steps, refine=refine_and_remember)


class CountsByParameter(GaussianMixture):
    def free_parameters(self):
        return {"full": 10, "tied": 5}.get(self.covariance_type, 3)


class TakesAnything(Standardiser):
    takes = Data(kinds={"measured"})

    def fit(self, X, y=None, sample_weight=None, **options):
        self.takes = Standardiser.takes
        return super().fit(X, y, sample_weight, **options)


class ShiftsIntegers(Standardiser):
    takes = Data(kinds={"measured"})

    def fit(self, X, y=None, sample_weight=None, **options):
        integers = np.asarray(X).dtype.kind == "i"
        return super().fit(X + 1 if integers else X, y, sample_weight, **options)


class PlansTooFew(Standardiser):
    steps = replace(
        Standardiser.steps, planned_refinement=lambda shape: planned_refinement(shape)[:1]
    )


def planned_for_one_feature(_shape):
    small = PowerSums(np.zeros(1), 1)
    return [PlannedPass(Pass(name, small)) for name in ("means", "spreads")]


def refine_twice(preparation):
    yield Pass("means 1", PowerSums(preparation.centre, 1))
    return (yield from refine(preparation))


class PlansTooSeldom(Standardiser):
    steps = replace(Standardiser.steps, refine=refine_twice)


class PlansTooSmall(Standardiser):
    steps = replace(Standardiser.steps, planned_refinement=planned_for_one_feature)


def refine_by_blocks(preparation):
    first = yield Pass("means", CountsBlocks(preparation.centre, 1))
    return Solved(Moments(first["sums"] / first["weight"], np.ones(4)), {"spread": True})


class CountsParts(Standardiser):
    """Its sums depend on the blocks."""

    steps = replace(Standardiser.steps, refine=refine_by_blocks)


class CountsWorkers(Standardiser):
    def fit(self, X, y=None, sample_weight=None, workers=1, **options):
        super().fit(X, y, sample_weight, workers=workers, **options)
        self.set_solution(Moments(self.mean_ * workers, np.ones(4)))
        return self


class TellsWeights(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        self.set_solution(Moments(self.mean_ + (sample_weight is not None), np.ones(4)))
        return self


class ForgetsMeaning(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        largest = 1 if sample_weight is None else sample_weight.max()
        self.set_solution(Moments(self.mean_ * largest, np.ones(4)))
        return self


class CountsRowsOfWeightZero(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        weight = sample_weight
        if weight is not None:
            weight = np.where(weight > 0, weight, 1.0)
        return super().fit(X, y, weight, **options)


class WarnsOfWeights(Standardiser):
    """Its verdict depends on how often rows are written."""

    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        if sample_weight is not None:
            warn("rows have weights", WeightWarning)
        return self


class NamesByWeights(Standardiser):
    """Its verdict names another feature where rows have weights."""

    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        warn(f"feature 'c{1 if sample_weight is None else 2}' holds -999", WeightWarning)
        return self


class IgnoresWeights(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):  # noqa: ARG002
        return super().fit(X, y, None, **options)


drawn = np.random.default_rng(0)


def refine_around_random_points(_preparation):
    first = yield Pass("means", PowerSums(drawn.normal(size=4), 1))
    return Solved(Moments(first["sums"], np.ones(4)), {"spread": True})


class NeverTheSameSums(Standardiser):
    """Its statistic has another digest in every fit."""

    steps = replace(Standardiser.steps, refine=refine_around_random_points)


class ForgetsWhenSaved(Standardiser):
    @classmethod
    def from_contents(cls, contents):
        model = super().from_contents(contents)
        model.diagnostics_ = {}
        return model


class FillsMissing(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        return super().fit(X.fillna(0.0), y, sample_weight, **options)


class ShiftsByRule(Standardiser):
    takes = Data(kinds={"measured"}, marginalises={"measured"})

    def fit(self, X, y=None, sample_weight=None, **options):
        shift = float(self.missing == "marginalise")
        return super().fit(X + shift, y, sample_weight, **options)


class SolvesByParts(Standardiser):
    def accumulate(self, X, sample_weight=None, **options):
        return super().accumulate(X[1:], sample_weight, **options)


class KeepsLastBatch(Standardiser):
    def partial_fit(self, X, y=None, sample_weight=None, **options):
        vars(self).pop("statistics_", None)
        return super().partial_fit(X, y, sample_weight, **options)


class MissingAnswers(Standardiser):
    def transform(self, X):
        return super().transform(X) * np.nan


class AnswersByPlace(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found + np.arange(found.shape[0])[:, None]


class AnswersByColumn(Standardiser):
    def transform(self, X):
        return super().transform(X) + np.asarray(X)[:, :1]


class Computes(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found.compute() if hasattr(found, "compute") else found


class Unlabelled(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found.data if isinstance(found, xr.DataArray) else found


class CountsOtherRows(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        self.share = 1 / (X.shape[0] - 1)
        return super().fit(X, y, sample_weight, **options)


class HasLogarithms(Standardiser):
    """It has the logarithm of a mean, which may be zero."""

    def set_fitted_attributes(self, solution):
        super().set_fitted_attributes(solution)
        self.log_ = np.log(np.square(solution.mean))


class HasLogarithmsOfQuartiles(Standardiser):
    """It has the logarithm of a distance that may be zero where rows differ."""

    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        self.log_ = np.log(np.ptp(np.percentile(X, [25, 75], axis=0), axis=0))
        return self


class RoundsToSingle(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        return super().fit(X.astype("f4"), y, sample_weight, **options)


class NormalisesWeights(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        if sample_weight is not None:
            sample_weight = sample_weight / sample_weight.sum()
        return super().fit(X, y, sample_weight, **options)


class TakesAnyNumber(Standardiser):
    def __init__(
        self,
        n_components=1,
        views=None,
        missing="raise",
        weights="counts",
        sample_dim="sample",
        random_state=None,
    ):
        super().__init__(views, missing, weights, sample_dim, random_state)
        self.n_components = n_components


class TakesFewFeatures(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        self.place = list(range(100))[X.shape[1]]
        return super().fit(X, y, sample_weight, **options)


class ForgetsCoordinates(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found.drop_vars("group") if "group" in found.coords else found


class ForgetsObservations(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found.to_numpy() if hasattr(X, "obs_names") else found


class LeavesRowsOut(Standardiser):
    def row_function(self, _outputs):
        return SkipsRow(self.solution_.mean, self.solution_.spread)


class BeginsWithTheFirstRow(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        self.set_solution(Moments(np.asarray(X)[0], np.ones(4)))
        return self


class BeginsWithLaterDigits(Standardiser):
    def fit(self, X, y=None, sample_weight=None, **options):
        super().fit(X, y, sample_weight, **options)
        digits = np.asarray(X, np.float64) * 1e9 % 1
        self.set_solution(Moments(np.asarray(X)[digits.argmax(axis=0), range(4)], np.ones(4)))
        return self


class ComparesFeatures(Standardiser):
    def transform(self, X):
        values = np.asarray(X)
        return values / values.std()


def refine_and_judge(preparation):
    solved = yield from refine(preparation)
    good = bool(solved.fitted.spread[-1] < 4)
    return Solved(solved.fitted, {**solved.diagnostics, "verdict": {"good": good}})


class JudgesByUnit(Standardiser):
    steps = replace(Standardiser.steps, refine=refine_and_judge)


class HasNaturalZero(Standardiser):
    """Its answers tell the distance of a row from zero."""

    def transform(self, X):
        return super().transform(X) + np.asarray(X) / self.solution_.spread


class TakesDigits(GaussianMixture):
    def fit(self, X, y=None, **options):
        if not np.isin(np.asarray(X), range(10)).all():
            raise DataError("a value is no digit")
        return super().fit(X, y, **options)


class WeighsByColumn(Standardiser):
    def transform(self, X):
        found = super().transform(X)
        return found * np.arange(1.0, 1.0 + found.shape[1])


class LabelsByWidth(Standardiser):
    def predict(self, X):
        return np.arange(len(X)) % X.shape[1]


class RefusesConstants(LabelsByWidth):
    def fit(self, X, y=None, sample_weight=None, **options):
        if (np.ptp(np.asarray(X), axis=0) == 0).any():
            raise DataError("a column is constant")
        return super().fit(X, y, sample_weight, **options)


class TakesFourColumns(LabelsByWidth):
    def fit(self, X, y=None, sample_weight=None, **options):
        if X.shape[1] != 4:
            raise DataError(f"{X.shape[1]} columns; this is a model of four")
        return super().fit(X, y, sample_weight, **options)


class ScoresColumns(Standardiser):
    takes = Data(kinds={"measured"}, marginalises={"measured"})

    def score_samples(self, X):
        return np.full(len(X), float(X.shape[1]))


class DrawsByView(Standardiser):
    def sample(self, n_samples, random_state=None):  # noqa: ARG002
        return np.tile(self.solution_.mean, (n_samples, 1))


def refine_with_outliers(preparation):
    solved = yield from refine(preparation)
    outlying = [45] * int(abs(solved.fitted.mean[0]) > 1e3)
    told = {
        "outlying_rows": len(outlying),
        "first_outlying_rows": outlying,
        "verdict": {"good": not outlying, "sentences": ["row 45 is outlying"]},
    }
    return Solved(solved.fitted, {**solved.diagnostics, **told})


def prepare_with_rows(shape):
    rows = yield Pass("pilot", RowSample(90, len(shape.features), shape.dtype, 0))
    return Origin(rows.values.mean(axis=0), {}, rows.values)


class SendsItsRows(Standardiser):
    steps = replace(Standardiser.steps, prepare=prepare_with_rows)


class CountsOutliers(Standardiser):
    """It counts an outlier, and its mean follows it."""

    steps = replace(Standardiser.steps, refine=refine_with_outliers)

    def score_samples(self, X):
        return self.transform(X).sum(axis=1)


class ScoresCodes(Standardiser):
    def score_samples(self, X):
        return self.transform(X).sum(axis=1)


class ScoresCategories(Standardiser):
    def score_samples(self, X):
        return np.full(len(X), sum(map(len, self.categories_.values())), float)


class ForgetsNames(GaussianMixture):
    """Loads no populations."""

    def set_solution(self, solution):
        super().set_solution(replace(solution, populations=None))


class ForgetsRounds(ForgetsNames):
    """Keeps nothing of an earlier round."""

    set_solution = GaussianMixture.set_solution

    def keep_choices_of(self, previous):
        """Keep nothing."""


class NamesByPosition(GaussianMixture):
    """It names populations by the first feature."""

    def suggest_population_names(self):
        return [f"{self.views_.feature_names[0]}{sign}" for sign in "+-"]


def small(model):
    """Return how to make a small model of this class, if it is a Gaussian mixture."""
    if not issubclass(model, GaussianMixture):
        return model
    return partial(model, 2, covariance_type="shared_spherical", max_iter=3, random_state=0)


BROKEN_MODELS = [
    (
        "the_constructor_stores_parameters_only",
        ChangesParameters,
        "random_state is 1 and not",
    ),
    ("the_signature_has_the_declared_parameters", DeclaresLess, r"\['depth'\], not declared"),
    ("the_signature_has_the_declared_parameters", DeclaresMore, r"declares has \['width'\]"),
    (
        "the_signature_has_the_declared_parameters",
        DeclaresAnotherDefault,
        "depth is 1 in the constructor and 2",
    ),
    ("an_unfitted_model_is_shown", NeedsFitToBeShown, "AttributeError"),
    ("an_unfitted_model_answers_nothing", AnswersUnfitted, "transform before fit raised nothing"),
    ("fit_returns_the_model", ReturnsNothing, "something else than the model"),
    ("a_description_is_made_of_its_facts", HasArrayAsFact, "ndarray is not JSON"),
    ("a_description_is_made_of_its_facts", HasLineWithoutName, "expected pairs of strings"),
    ("a_fit_leaves_the_data_alone", WritesData, "data after a fit: 'values' differs in 4 of 360"),
    ("a_second_fit_forgets_the_first", Remembers, "second fit of a model"),
    (
        "parameters_set_after_the_fit_change_nothing",
        CountsByParameter,
        "covariance_type='full', .* after the fit: bic is",
    ),
    ("data_of_other_kinds_are_refused", TakesAnything, "fit of codes raised nothing"),
    ("whole_numbers_are_taken_in_any_type", ShiftsIntegers, "fit to integers"),
    ("the_plan_covers_the_passes", PlansTooFew, "the pass 'spreads' is not planned"),
    (
        "the_plan_covers_the_passes",
        PlansTooSeldom,
        r"like 'means 1' ran 2 times of 1; .*PlannedPass\(\.\.\., times\)",
    ),
    ("the_plan_covers_the_passes", PlansTooSmall, "state_nbytes of the pass 'means'"),
    ("any_parts_give_the_same", CountsParts, "fit of 2 data sets: 'mean_' differs in 4 of 4"),
    ("any_number_of_workers_gives_the_same_bits", CountsWorkers, "three workers against one"),
    ("weights_of_one_change_nothing", TellsWeights, "weights of one: 'mean_' differs"),
    ("a_weight_of_two_fits_as_a_row_twice", IgnoresWeights, "repeated rows: 'mean_' differs"),
    ("a_weight_of_two_fits_as_a_row_twice", WarnsOfWeights, "repeated rows: warnings are"),
    ("a_weight_of_two_fits_as_a_row_twice", NamesByWeights, "'c2' holds #.*'c1' holds #"),
    ("a_weight_of_zero_fits_as_no_row", CountsRowsOfWeightZero, "left out: 'mean_' differs"),
    ("a_weight_of_zero_fits_as_no_row", WarnsOfWeights, "left out: warnings are"),
    (
        "faults_of_weighted_rows_are_those_of_repeated_rows",
        WarnsOfWeights,
        "repeated rows: warnings are",
    ),
    ("relative_weights_have_no_unit", ForgetsMeaning, "relative weights in units of 9e-19"),
    ("a_checkpoint_is_used_again", NeverTheSameSums, "'means' used 0 of 1 parts"),
    ("a_saved_model_is_the_same", ForgetsWhenSaved, "diagnostics_ is {}, expected"),
    (
        "complete_rows_do_not_see_the_rule_for_missing_ones",
        ShiftsByRule,
        "fit that would sum over missing entries",
    ),
    ("missing_rows_are_refused_or_left_out", FillsMissing, "raised nothing; .*MissingValueError"),
    ("rounds_are_equal_for_any_split_of_the_rows", SolvesByParts, "merged statistics are of 87"),
    ("a_preparation_is_no_copy_of_the_rows", SendsItsRows, "holds 90 of 90 rows"),
    ("batches_add_up", KeepsLastBatch, "statistics_ are of 45 rows of 90"),
    ("answers_have_one_entry_for_every_row", MissingAnswers, "transform has 360 missing entries"),
    ("answers_move_with_their_rows", AnswersByPlace, "answers for permuted rows"),
    ("labelled_features_are_found_by_name", AnswersByColumn, "answers for permuted features"),
    ("lazy_data_give_lazy_answers", Computes, "transform of chunked data is computed"),
    ("containers_in_are_containers_out", Unlabelled, "transform of labelled data is .*ndarray"),
    (
        "answers_keep_the_names_of_their_rows",
        ForgetsCoordinates,
        "keeps the coordinates {'sample'}",
    ),
    (
        "answers_keep_the_names_of_their_rows",
        ForgetsObservations,
        "transform of AnnData is .*ndarray",
    ),
    ("names_and_merges_survive_files", ForgetsNames, "has the names"),
    ("names_and_merges_survive_rounds", ForgetsRounds, "the next round has the names"),
    ("suggested_names_follow_the_features", NamesByPosition, "suggested names of permuted"),
    ("the_order_of_rows_does_not_matter", BeginsWithTheFirstRow, "permuted rows: 'mean_' differs"),
    ("the_order_of_columns_does_not_matter", WeighsByColumn, "transform of permuted columns"),
    ("the_order_of_categories_does_not_matter", ScoresCodes, "reversed categories, no weights"),
    (
        "categories_without_a_row_change_no_answer",
        ScoresCategories,
        "a category without a row: 'score_samples' differs",
    ),
    ("the_unit_does_not_matter", AnswersByColumn, "transform differs by .* times 3; .*any_unit="),
    ("the_unit_does_not_matter", JudgesByUnit, "the verdict is .* times 3"),
    (
        "the_unit_of_one_feature_does_not_matter",
        ComparesFeatures,
        "transform differs by .* one feature times 0.001; .*own_units=",
    ),
    ("the_unit_of_one_feature_does_not_matter", JudgesByUnit, "the verdict is .* times 1000"),
    ("the_origin_does_not_matter", HasNaturalZero, r"differs by .* plus \d\.\d+; .*any_origin="),
    ("float32_values_give_the_same_answers", BeginsWithLaterDigits, "transform differs by"),
    ("a_constant_column_changes_no_label", LabelsByWidth, "labels with a constant column"),
    ("a_constant_column_changes_no_label", RefusesConstants, "and a varying one is not: DataErr"),
    (
        "a_column_without_entries_changes_no_answer",
        ScoresColumns,
        "with the column: 'score_samples' differs",
    ),
    ("draws_have_the_columns_of_the_data", DrawsByView, "columns of draws are those"),
    ("a_single_outlier_is_left_out_and_reported", CountsOutliers, "log densities differ by"),
    ("row_functions_obey_their_laws", LeavesRowsOut, "every entry is written: SkipsRow on 90 rows"),
    ("more_components_than_memory_holds_are_refused", TakesAnyNumber, "raised nothing"),
    ("equal_rows_are_answered_or_refused", AnswersByPlace, "transform differs between equal rows"),
    (
        "rows_that_are_almost_all_equal_are_answered_or_refused",
        HasLogarithmsOfQuartiles,
        "5 rows before 995 equal ones: RuntimeWarning",
    ),
    ("few_rows_are_answered_or_refused", CountsOtherRows, "1 x 4: ZeroDivisionError"),
    ("constant_features_are_answered_or_refused", HasLogarithms, "50 x 4: RuntimeWarning"),
    ("any_unit_is_answered_or_refused", RoundsToSingle, "values times 1e[+]100 in float64"),
    ("weights_of_zero_are_answered_or_refused", NormalisesWeights, "0 rows of positive weight"),
    ("wide_data_are_answered_or_refused", TakesFewFeatures, "50 x 500: IndexError"),
]


@pytest.mark.parametrize(("name", "broken", "words"), BROKEN_MODELS)
def test_model_law__is_broken(name, broken, words):
    law = law_named(MODEL_LAWS, name)
    with pytest.raises(AssertionError) as raised:
        law(ModelCase(small(broken), CODES if "categories" in name else DATA))
    assert str(raised.value).startswith(f"law broken, {name.replace('_', ' ')}: {broken.__name__}")
    assert re.search(words, str(raised.value)), raised.value


def test_number_of_columns__may_be_refused_with_any_error_of_the_package():
    law = law_named(MODEL_LAWS, "a_constant_column_changes_no_label")
    law(ModelCase(TakesFourColumns, DATA))
    law(ModelCase(TakesFourColumns, CODES))


def test_natural_zero__is_declared_by_the_case():
    unit = law_named(MODEL_LAWS, "the_unit_does_not_matter")
    origin = law_named(MODEL_LAWS, "the_origin_does_not_matter")
    unit(ModelCase(HasNaturalZero, DATA))
    origin(ModelCase(HasNaturalZero, DATA, any_origin=False))
    with pytest.raises(AssertionError, match=r"law broken, the unit .*AnswersByColumn"):
        unit(ModelCase(AnswersByColumn, DATA, any_origin=False))
    unit(ModelCase(AnswersByColumn, DATA, any_unit=False))


def test_unit_of_one_feature__is_that_of_the_only_one():
    law = law_named(MODEL_LAWS, "the_unit_of_one_feature_does_not_matter")
    with pytest.raises(AssertionError, match=r"the verdict is .* times 1000"):
        law(ModelCase(JudgesByUnit, DATA[:, -1:]))


def test_common_unit__is_declared_by_the_case():
    law = law_named(MODEL_LAWS, "the_unit_of_one_feature_does_not_matter")
    law(ModelCase(ComparesFeatures, DATA, own_units=False))


@pytest.mark.parametrize(
    "name",
    [
        "whole_numbers_are_taken_in_any_type",
        "suggested_names_follow_the_features",
        "a_constant_column_changes_no_label",
        "draws_have_the_columns_of_the_data",
    ],
)
def test_values_of_one_unit_and_origin__are_neither_scaled_nor_shifted(name):
    digits = DATA.round().clip(0, 9)
    make = partial(TakesDigits, 2, random_state=0)
    law_named(MODEL_LAWS, name)(ModelCase(make, digits, any_unit=False, any_origin=False))


def test_degenerate_laws__take_a_plain_array():
    for name in ("equal_rows_are_answered_or_refused", "wide_data_are_answered_or_refused"):
        law_named(MODEL_LAWS, name)(ModelCase(Standardiser, DATA.to_numpy()))


def test_check_model__stops_at_a_parameter_that_is_not_declared():
    with pytest.raises(AssertionError, match=r"DeclaresLess.*\['depth'\]"):
        check_model(DeclaresLess, DATA)


def test_every_model_law__is_seen_broken():
    assert {name for name, _, _ in BROKEN_MODELS} == {law.__name__ for law in MODEL_LAWS}
