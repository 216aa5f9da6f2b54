"""Discrete mixtures against the mixtures that their rows come from."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment

import bigtensor
from bigtensor import DiscreteMixture, simulate
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.discrete.discrete_core import DiscreteFactors
from bigtensor.decomposition.exterior_point import exterior_point_from, literal_exterior_point
from bigtensor.errors import ConditioningWarning, MissingValueWarning
from bigtensor.models.contract.script import in_memory
from bigtensor.models.discrete_mixture.core import moments_of, unscaled_moments_of
from bigtensor.models.discrete_mixture.estimation import (
    LITERAL_NEGATIVE_PENALTY,
    LITERAL_SUM_PENALTY,
)
from bigtensor.models.discrete_mixture.expectation_maximisation import (
    Problem,
    Stopping,
    em_iterations,
)
from bigtensor.models.discrete_mixture.solution import DiscreteSolution
from bigtensor.report.drawing import draw
from bigtensor.statistics.codes.code_moments import SymbolGroup
from tests.models.discrete_mixture.tables import Truth, distance, fitted_table, truth
from tests.parameters import first_quick

# weights of exact tables are expected counts
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.WeightWarning")


@pytest.mark.parametrize("method", ["svd", "svd_joint", "std"])
@pytest.mark.parametrize("sizes", [(4, 4, 4), (5, 3, 7)])
def test_spectral_methods__recover_a_population_table(method: str, sizes: tuple[int, ...]) -> None:
    known = truth(3, sizes, seed=2)
    data, weight = known.rows()
    model = DiscreteMixture(3, method=method).fit(data, sample_weight=weight)
    assert distance(model, known) < 1e-8


@pytest.mark.parametrize("method", ["ex", "ex_literal"])
def test_exterior_points__of_a_population_table_are_its_mixture(method: str) -> None:
    known = truth(3, (5, 4, 6), seed=3)
    data, weight = known.rows()
    model = DiscreteMixture(3, method=method, ridge=None).fit(data, sample_weight=weight)
    assert distance(model, known) < 1e-5


def test_em_iterations__stay_at_the_truth() -> None:
    known = truth(3, (5, 4, 6), seed=4)
    data, weight = known.rows()
    rows = Block(
        data.to_numpy(), {f"view{t}": slice(t, t + 1) for t in range(3)}, 0, len(weight), weight
    )
    groups = tuple(SymbolGroup((t,), (size,)) for t, size in enumerate((5, 4, 6)))
    problem = Problem((5, 4, 6), groups, weight.sum(), "em", None, False, 1, 0)
    start = DiscreteSolution(known.weights, known.probabilities)
    end = in_memory(em_iterations(start, problem, 0.0, Stopping(25, 0.0), {}), rows)
    np.testing.assert_allclose(end.solution.weights, known.weights, atol=1e-8)
    for found, expected in zip(end.solution.probabilities, known.probabilities, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("method", ["ex", "ex_literal"])
def test_exterior_points__stay_at_the_truth_of_summed_moments(method: str) -> None:
    """Moments are summed over rows as a fit sums them, and prices are those of a fit."""
    known = truth(3, (5, 4, 6), seed=4)
    data, weight = known.rows()
    rows = Block(
        data.to_numpy(), {f"view{t}": slice(t, t + 1) for t in range(3)}, 0, len(weight), weight
    )
    groups = tuple(SymbolGroup((t,), (size,)) for t, size in enumerate((5, 4, 6)))
    start = DiscreteFactors(known.weights, known.probabilities)
    if method == "ex":
        moments = in_memory(moments_of(groups, 6, np.random.default_rng(0)), rows)
        end = exterior_point_from(moments.core, start, ridge=0.0)
    else:
        moments = in_memory(unscaled_moments_of(groups), rows)
        end = literal_exterior_point(
            moments.core,
            start,
            sum_penalty=LITERAL_SUM_PENALTY,
            negative_penalty=LITERAL_NEGATIVE_PENALTY,
        )
    assert moments.weight == pytest.approx(weight.sum(), rel=1e-12)
    assert end.residual < 1e-7
    np.testing.assert_allclose(end.factors.weights, known.weights, atol=1e-8)
    for found, expected in zip(end.factors.probabilities, known.probabilities, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_more_than_three_views__are_decomposed_in_groups() -> None:
    known = truth(4, (3, 2, 4, 3, 2), seed=5)
    data, weight = known.rows()
    model = DiscreteMixture(4, ridge=None, max_iter=200).fit(data, sample_weight=weight)
    assert distance(model, known) < 1e-3
    assert np.abs(fitted_table(model) - known.joint).sum() < 1e-3


# weights are drawn as well, and some components are almost empty; a single start, unlike the
# default number, ends at the best of 3,500 rows with seven of ten seeds
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(("rows", "k", "seed"), first_quick([(700, 4, 3), (3500, 6, 3)]))
def test_many_views_of_few_rows__are_as_likely_as_from_the_truth(rows, k, seed) -> None:
    data = simulate.discrete_mixture(
        rows, k, n_categories=4, views=30, concentration=0.5, random_state=seed
    )
    started = truth_started_likelihood(data)
    model = DiscreteMixture(k, ridge=None).fit(data)
    assert model.score(data) > started - 1e-4
    # rows that are joint codes of their own are nothing to decompose
    spectral = DiscreteMixture(k, ridge=None, n_starts=1).fit(data)
    assert spectral.score(data) > started - 1e-4
    assert {"exterior_point", "random_initialisations"} <= set(spectral.diagnostics_)
    bare = DiscreteMixture(k, ridge=None, max_iter=0).fit(data)
    assert "random_initialisations" not in bare.diagnostics_


@pytest.mark.parametrize(
    ("rows", "passes"),
    [
        # more rows than random starts compete on, and then more than the driver holds
        (40_000, ["pilot"]),
        pytest.param(220_000, ["pilot", "posterior"], marks=pytest.mark.slow),
    ],
)
def test_many_views_of_many_rows__start_from_a_part_of_them(rows, passes) -> None:
    data = simulate.discrete_mixture(rows, 4, n_categories=5, views=10, random_state=2)
    model = DiscreteMixture(4, ridge=None, n_starts=3).fit(data)
    assert [entry["name"] for entry in model.diagnostics_["passes"]][: len(passes)] == passes
    assert model.score(data) > truth_started_likelihood(data) - 3e-4


def truth_started_likelihood(data: xr.Dataset) -> float:
    """Return the mean log-likelihood that EM reaches from the true parameters."""
    sizes = (data.sizes["category"],) * data.sizes["feature"]
    rows = Block(
        data["X"].to_numpy().astype(np.int32),
        {f"view{t + 1}": slice(t, t + 1) for t in range(len(sizes))},
        0,
        data.sizes["sample"],
        None,
    )
    groups = tuple(SymbolGroup((t,), (sizes[t],)) for t in range(3))
    problem = Problem(sizes, groups, float(rows.rows), "em", None, False, 1, 0)
    tables = tuple(data["true_probabilities"].to_numpy())
    start = DiscreteSolution(data["true_weights"].to_numpy(), tables).floored(1e-6)
    end = in_memory(em_iterations(start, problem, 0.0, Stopping(500, 1e-8), {}), rows)
    return end.likelihoods[-1]


@pytest.mark.slow
def test_default__is_better_than_the_spectral_solution_and_random_starts() -> None:
    errors: dict[str, list[float]] = {"ex": [], "svd_joint": [], "em": []}
    for seed in range(6):
        known = truth(6, (12, 12, 12), seed=100 + seed)
        data, weight = known.drawn(4000, np.random.default_rng(seed))
        for method, found in errors.items():
            ridge = None if method == "em" else "cross-validation"
            model = DiscreteMixture(6, method=method, ridge=ridge)
            with warnings.catch_warnings():
                # a component of the other methods may be almost empty
                warnings.simplefilter("ignore", ConditioningWarning)
                model.fit(data, sample_weight=weight)
            found.append(np.abs(fitted_table(model) - known.joint).sum())
    means = {method: float(np.mean(found)) for method, found in errors.items()}
    print(means)
    assert means["ex"] < means["em"]
    assert means["ex"] < 0.6 * means["svd_joint"]


def test_number_of_components__is_that_of_the_data() -> None:
    data = simulate.discrete_mixture(20_000, 4, n_categories=8, random_state=501)
    model = DiscreteMixture().fit(data)
    assert len(model.weights_) == 4
    scores = model.diagnostics_["component_choice"]["held_out_log_likelihood"]
    assert max(scores, key=scores.get) == "4"
    assert model.diagnostics_["ridge"] in (0.0, 0.5, 2.0)


@pytest.mark.slow  # the number without such a column is quick
def test_number_of_components__does_not_grow_with_a_column_of_identifiers() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 600)
    answers = (rng.random((600, 5)) < np.where(classes == 1, 0.85, 0.15)[:, None]).astype(int)
    table = np.column_stack([np.arange(600), answers])
    with pytest.warns(ConditioningWarning, match="such as ids: x0"):
        assert len(DiscreteMixture(random_state=0).fit(table).weights_) == 2


@pytest.mark.slow
def test_missing_entries__leave_the_mixture_what_it_is() -> None:
    whole = simulate.discrete_mixture(60_000, 3, n_categories=4, views=6, random_state=1)
    gaps = simulate.discrete_mixture(
        60_000, 3, n_categories=4, views=6, missing=0.3, random_state=1
    )
    assert (gaps["X"] < 0).any(axis=1).mean() > 0.8
    model = DiscreteMixture(3, missing="marginalise").fit(gaps)
    np.testing.assert_allclose(model.weights_, whole["true_weights"], atol=0.02)
    for name, table in model.component_probabilities_.items():
        expected = whole["true_probabilities"].sel(feature=name).to_numpy()
        assert np.abs(table.to_numpy() - expected).max() < 0.06
    assert model.diagnostics_["rows_left_out"] == 0
    labels = model.predict(gaps)
    assert (labels >= 0).all()
    agreement = np.zeros((3, 3))
    np.add.at(agreement, (labels.to_numpy(), whole_labels(gaps)), 1)
    rows, columns = linear_sum_assignment(-agreement)
    oracle = DiscreteMixture(3).fit(whole).predict(whole)
    reached = agreement[rows, columns].sum() / len(labels)
    assert reached > 0.9 * (oracle.to_numpy() == whole_labels(whole)).mean()


def whole_labels(data: object) -> np.ndarray:
    """Return the labels that rows were drawn with."""
    return data["label"].to_numpy()  # type: ignore[index]


@pytest.mark.slow  # starts of moments are quick
def test_random_starts__serve_where_no_group_has_enough_symbols() -> None:
    known = truth(3, (2, 2, 2, 2, 2, 2), seed=7)
    data, weight = known.rows()
    model = DiscreteMixture(3).fit(data, sample_weight=weight)
    # groups of two binary views have four joint codes: enough for a spectral solution
    assert "exterior_point" in model.diagnostics_
    data, weight = truth(3, (2, 2, 2, 2), seed=7).rows()
    model = DiscreteMixture(3).fit(data, sample_weight=weight)
    assert len(model.diagnostics_["random_initialisations"]) >= 10
    assert np.abs(fitted_table(model) - truth(3, (2, 2, 2, 2), seed=7).joint).sum() < 0.01


@pytest.mark.slow  # small alphabets are quick
def test_large_alphabets__are_sketched_and_polished_over_all_rows() -> None:
    data = simulate.discrete_mixture(
        260_000, 4, n_categories=300, concentration=0.1, random_state=2
    )
    model = DiscreteMixture(4, random_state=0).fit(data)
    names = [entry["name"] for entry in model.diagnostics_["passes"]]
    assert names[:5] == ["pilot", "sketches", "power", "power", "moments"]
    assert {*names[5:]} == {"posterior"}
    assert np.abs(model.weights_ - data["true_weights"].to_numpy()).max() < 0.01
    apart = [
        np.abs(table - data["true_probabilities"].sel(feature=name).to_numpy()).sum(axis=0)
        for name, table in model.component_probabilities_.items()
    ]
    assert np.mean(apart) < 0.12
    few = data.isel(sample=slice(0, 20_000))
    held = DiscreteMixture(4, random_state=0).fit(few)
    assert [entry["name"] for entry in held.diagnostics_["passes"]] == ["pilot"]
    # entries of categories that only the other rows have are ignored
    with pytest.warns(MissingValueWarning, match="29 more of 'view1'"):
        assert held.score(data) > model.score(data) - 0.2


@pytest.mark.filterwarnings("ignore:Components .* have the same probabilities")
def test_components__beyond_what_the_views_determine_are_a_warning() -> None:
    data = np.random.default_rng(0).integers(0, 2, (500, 3))
    with pytest.warns(ConditioningWarning, match="at most 7: "):
        DiscreteMixture(5, n_starts=2).fit(data)


def test_criteria__are_those_of_the_likelihood_and_the_free_parameters() -> None:
    data = simulate.discrete_mixture(2000, 2, n_categories=3, random_state=1)
    model = DiscreteMixture(2).fit(data)
    likelihood = float(np.asarray(model.score_samples(data)).sum())
    free = 1 + 2 * 3 * 2
    assert model.aic(data) == pytest.approx(2 * free - 2 * likelihood)
    assert model.bic(data) == pytest.approx(np.log(2000) * free - 2 * likelihood)


def test_samples__have_the_joint_table_of_the_mixture() -> None:
    known: Truth = truth(3, (4, 3, 5), seed=8)
    data, weight = known.rows()
    model = DiscreteMixture(3, ridge=None).fit(data, sample_weight=weight)
    codes, labels = model.sample(200_000, random_state=1)
    found = np.zeros(known.joint.shape)
    np.add.at(found, tuple(codes.T), 1 / len(codes))
    assert np.abs(found - known.joint).sum() < 0.02
    np.testing.assert_allclose(np.bincount(labels) / len(labels), model.weights_, atol=0.005)


def test_saved_model__answers_with_the_same_bits(tmp_path) -> None:
    data = simulate.discrete_mixture(3000, 3, n_categories=5, random_state=1)
    model = DiscreteMixture(3).fit(data)
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert loaded.categories_ == model.categories_
    np.testing.assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    for name, table in model.component_probabilities_.items():
        assert table.identical(loaded.component_probabilities_[name])


@pytest.fixture(scope="module")
def survey_model() -> DiscreteMixture:
    """Classes that agree with three statements or not, and that answer a fourth one alike."""
    rng = np.random.default_rng(0)
    kind, names = rng.integers(0, 2, 500), np.array(["agree fully", "disagree fully"])
    codes = {f"question {v}": kind ^ (rng.random(500) < 0.1) for v in "abc"}
    codes["question d"] = rng.integers(0, 2, 500)
    answers = pd.DataFrame({question: names[code] for question, code in codes.items()})
    return DiscreteMixture(2, random_state=0).fit(answers.astype("category"))


def test_typical_categories__break_between_words(survey_model: DiscreteMixture) -> None:
    (column,) = survey_model.description.report(survey_model, None).columns
    assert "agree fully\N{NO-BREAK SPACE}(9" in " ".join(column.texts)


def test_probabilities_of_categories__have_the_same_digits(survey_model: DiscreteMixture) -> None:
    (section,) = survey_model.description.report(survey_model, None).sections
    texts = [text.get_text() for text in draw(section.blocks[1]).axes[0].texts]
    assert {len(text.partition(".")[2]) for text in texts} == {3}
