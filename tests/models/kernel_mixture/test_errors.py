"""Bad input of a kernel mixture: every message names what was received and what would help."""

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bigtensor import KernelMixture
from bigtensor.errors import (
    ConstantFeatureWarning,
    DataError,
    IdentifiabilityError,
    LayoutError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    PlanError,
    StoreReadError,
    ViewError,
)
from tests.models.kernel_mixture.parameters import mixture_parameters


@pytest.fixture(scope="module")
def values(data) -> np.ndarray:
    return data["X"].to_numpy()


@pytest.fixture
def make(small):
    """Return a function that makes a model of three components."""

    def made(n_components=3, **parameters):
        return KernelMixture(n_components, **mixture_parameters(small, **parameters))

    return made


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components is 0; .* at least 1"),
        ({"n_components": 2.0}, r"n_components is 2\.0; .* integer"),
        ({"n_components": True}, "n_components is True; .* integer"),
        ({"init": "random"}, "init is 'random'; .* auto, spectral"),
        ({"init": None}, "init is None; expected one of"),
        ({"decomposition": "cp"}, "decomposition .* 'cp'; .* jacobi"),
        ({"landmarks": 50}, "landmarks .* is 50; .* cholesky"),
        ({"n_landmarks": 1}, "n_landmarks .* is 1; .* 65536"),
        ({"n_landmarks": 2**40}, "n_landmarks .* is 1099511627776; .* from 2"),
        ({"n_components": float("nan")}, "n_components is nan; .* integer"),
        ({"n_components": "3"}, "n_components is '3'; .* integer"),
        ({"n_directions": 2}, "n_directions .* is 2; .* from 3 to 9"),
        ({"n_directions": 10}, "n_directions .* is 10; .* 3 to 9"),
        ({"max_iter": 0}, "max_iter is 0; .* from 1 to"),
        (
            {"max_iter": 2**40},
            "max_iter is 1099511627776; expected",
        ),
        ({"bins": 8}, "bins .* is 8; .* from 16 to 1048576"),
        ({"bins": 2**40}, "bins .* is 1099511627776; .* 1048576"),
        ({"pilot_rows": 50}, "pilot_rows is 50; .* at least 100"),
        ({"feature_dtype": "float16"}, "feature_dtype .* 'float16'; .* one of"),
        ({"missing": "drop"}, "missing is 'drop'; .* raise, omit"),
        ({"sample_dim": None}, "sample_dim is None; .* a dimension"),
        ({"random_state": -1}, "random_state is -1; .* at least 0"),
        ({"random_state": "x"}, "random_state is 'x'; .* integer"),
        ({"views": [[0], [1], [2]]}, "views is a list; .* with lists"),
        ({"views": {"a": "view1"}}, "views has 'view1' under 'a'"),
        ({"views": {"a": 0}}, "views has 0 under 'a'"),
        ({"views": {"a": [0.5]}}, r"views has \[0\.5\] under 'a'"),
    ],
)
def test_parameter__out_of_range_is_named(make, values, parameters, message):
    with pytest.raises(ParameterError, match=message):
        make(**parameters).fit(values)


def test_notes__name_no_initialisation_that_was_not_asked_for(make, values):
    constant = values[:400].copy()
    constant[:, 2:] = 1.0
    with pytest.warns(ConstantFeatureWarning):
        model = make("auto", merging="overlap").fit(constant)
    assert not any("merging" in note for note in model.diagnostics_["notes"])


def test_constant_feature__is_named_where_too_little_is_left(make, data):
    constant = data.copy(deep=True)
    constant["X"].loc[{"feature": "view2"}] = 3.5
    with pytest.raises(ViewError, match=r"'view2' has one .* use init='kmeans'"):
        make(init="spectral").fit(constant)


def test_components__more_than_the_features_support(make):
    coarse = np.random.default_rng(0).integers(0, 3, size=(2000, 3)).astype(float)
    with pytest.raises(IdentifiabilityError, match="at most 3 components, but 5 were"):
        make(5, init="spectral").fit(coarse)


def test_components__more_than_the_moments_support(make):
    # three values a view in each of two components, in every combination: given the component
    # the views are exactly independent, so that moments of six features have rank two
    values = np.arange(3.0)
    corner = np.stack(np.meshgrid(values, values, values), axis=-1).reshape(-1, 3)
    rows = np.repeat(np.concatenate([corner, corner + 20]), 20, axis=0)
    with pytest.raises(IdentifiabilityError, match="support 2 components, but 4 were") as caught:
        make(4, feature_dtype="float64").fit(rows)
    assert "Use n_components=2 or fewer" in str(caught.value)


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_components__more_than_rows(make, values, start):
    with pytest.raises(IdentifiabilityError, match=r"n_components=30 .*rows; got n_samples"):
        make(30, init=start).fit(values[:20])


def test_components__more_than_distinct_rows(make, values):
    with pytest.raises(IdentifiabilityError, match=r"only 4 distinct .* at most 4"):
        make(5, init="kmeans").fit(np.repeat(values[:4], 10, axis=0))


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_one_row__is_refused(make, values, start):
    with pytest.raises(IdentifiabilityError, match="got n_samples=1"):
        make(1, init=start).fit(values[:1])


def test_unknown_feature__comes_with_a_suggestion(make, data):
    views = {"a": ["view1"], "b": ["viw2"], "c": ["view3"]}
    with pytest.raises(ViewError, match=r"view 'b' .*'viw2'; did you mean"):
        make(views=views).fit(data)


def test_unknown_column__is_named(make, values):
    with pytest.raises(ViewError, match=r"'c' names column 7; .* columns 0 to 2"):
        make(views={"a": [0], "b": [1], "c": [7]}).fit(values)


def test_feature_in_two_views__is_named(make, values):
    with pytest.raises(ViewError, match=r"'x0' is in view 'a' and .* view 'b'"):
        make(views={"a": [0], "b": [0], "c": [2]}).fit(values)


@pytest.mark.parametrize(
    ("start", "views", "message"),
    [
        ("spectral", {"a": [0], "b": [1, 2]}, "at least 3 .* got 2 .* init='kmeans'"),
        ("kmeans", {"a": [0, 1, 2]}, "at least 2 views .* got 1"),
        ("spectral", {}, "at least 3 views .* got 0"),
        ("auto", {"a": [0, 1, 2]}, "at least 2 .* GaussianMixture"),
    ],
)
def test_fewer_views_than_needed__says_how_many(make, values, start, views, message):
    with pytest.raises(ViewError, match=message):
        make(init=start, views=views).fit(values)


def test_predict__names_the_feature_that_is_missing(model, data):
    with pytest.raises(ViewError, match=r"X lacks .*absent.*'view3'"):
        model.predict(data["X"].isel(feature=[0, 1]))


@pytest.mark.parametrize("columns", [[0, 1], [0, 1, 2, 2]])
@pytest.mark.parametrize("kind", [np.asarray, lambda rows: da.from_array(rows), list])
def test_predict__counts_the_features_of_plain_arrays(make, values, columns, kind):
    fitted = make().fit(values)
    with pytest.raises(ValueError, match="is expecting 3 features as input"):
        fitted.predict(kind(values[:, columns]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, _: model.predict(np.ones((3, 3))),
        lambda model, _: model.sample(3),
        lambda model, path: model.save(path / "m.zarr"),
        lambda model, _: model.component_density("x0", [1.0]),
        lambda model, _: model.expectation("x0", np.abs),
        lambda model, path: model.write(np.ones((3, 3)), path / "out.zarr"),
    ],
)
def test_unfitted_model__says_so(make, tmp_path, ask):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(make(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_failed_fit__leaves_the_model_unfitted(make, values):
    constant, unlucky = values.copy(), make(init="spectral")
    constant[:, 1] = 1.0
    with pytest.raises(DataError):
        unlucky.fit(constant)
    with pytest.raises(NotFittedError):
        unlucky.predict(values)


def test_missing_value__is_refused_with_its_place(make, data):
    damaged = data.copy(deep=True)
    damaged["X"][{"sample": 2345, "feature": 1}] = np.nan
    damaged["X"][{"sample": 3456, "feature": 0}] = np.inf
    with pytest.raises(MissingValueError) as caught:
        make().fit(damaged)
    for words in ("2 of 4,000 rows", "NaN", "row 2,345", "'view2'", "missing='omit'"):
        assert words in str(caught.value)


def test_missing_value__is_refused_when_it_is_to_be_labelled(model, data):
    damaged = data.copy(deep=True)
    damaged["X"][{"sample": 17, "feature": 2}] = np.nan
    with pytest.raises(MissingValueError, match="row 17, feature 'view3'"):
        model.predict(damaged)
    lazy = model.predict(damaged.chunk(sample=500))
    with pytest.raises(MissingValueError, match="row 17, feature 'view3'"):
        lazy.compute()


def test_missing_value__is_left_out_and_counted_on_request(make, data, values):
    damaged = data.copy(deep=True)
    damaged["X"][{"sample": slice(0, 40), "feature": 2}] = np.nan
    with pytest.warns(MissingValueWarning, match="40 of 4,000 rows .* they are left out"):
        fitted = make(missing="omit").fit(damaged)
    assert fitted.diagnostics_["rows_left_out"] == 40
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    assert not make().__sklearn_tags__().input_tags.allow_nan
    np.testing.assert_allclose(fitted.weights_, make().fit(values[40:]).weights_, atol=0.01)
    with pytest.warns(MissingValueWarning, match="40 of 4,000"):
        label = fitted.predict(damaged)
    with pytest.warns(MissingValueWarning, match="40 of 4,000"):
        scores = fitted.score_samples(damaged)
    assert np.all(label[:40] == -1)
    assert label[40:].min() == 0
    assert np.isnan(scores[:40]).all()
    with pytest.warns(MissingValueWarning, match="40 of 4,000"):
        assert fitted.score(damaged) == pytest.approx(float(scores[40:].mean()))


def test_all_rows_missing__is_an_error(make):
    with pytest.raises(DataError, match=r"^no row is left to fit: 200 of 200 rows"):
        make(missing="omit").fit(np.full((200, 3), np.nan))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (
            np.repeat([-1.0, 1.0], 2000),
            "2,000 of 4,000 .* negative, .*positive",
        ),
        (np.r_[np.ones(3999), np.nan], "1 of 4,000 .* first is row 3,999"),
        (np.r_[1e308, np.ones(3999)], r"1 of 4,000 .* above 1e\+100"),
        (np.zeros(4000), "every sample weight is zero"),
        (np.full(4000, "1"), "sample_weight holds <U1; .* number a row"),
        ("weight", "sample_weight is the text 'weight'"),
        (np.full(4000, 1j), "sample_weight holds complex128"),
        (np.full(4000, np.datetime64("2026-01-01")), "sample_weight holds datetime64"),
        (np.full(4000, {}, object), "sample_weight holds no numbers"),
        (np.ones(7), r"sample_weight has shape \(7,\); expected \(4000,\)"),
        (np.ones((4000, 1)), r"sample_weight has shape \(4000, 1\)"),
    ],
)
@pytest.mark.parametrize("missing", ["raise", "omit"])
def test_sample_weight__is_checked(make, values, weight, message, missing):
    with pytest.raises(DataError, match=message):
        make(missing=missing).fit(values, sample_weight=weight)


@pytest.mark.parametrize("workers", [2**40, 2.0, "2", True, float("nan"), 0])
def test_workers__are_counted_before_they_are_started(make, values, workers):
    with pytest.raises(ParameterError, match=f"workers is {workers!r}; .* from 1"):
        make().fit(values, workers=workers)
    with pytest.raises(ParameterError, match=f"workers is {workers!r}; .* from 1"):
        make().plan(values, workers=workers)


@pytest.mark.parametrize("parameters", [{}, {"init": "kmeans"}, {"units": "common"}])
def test_outlier__whose_square_overflows_is_named(make, values, parameters):
    spoiled = values.astype(np.float64)
    spoiled[17, 1] = -1e300
    with pytest.raises(MissingValueError, match=r"above 1e\+150.* row 17, feature 'x1'"):
        make(**parameters).fit(spoiled)


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (lambda rows: rows.astype(int).astype(str), DataError, "int32, codes .*astype"),
        (lambda rows: rows + 1j, DataError, "Complex data not supported"),
        (lambda rows: rows[:0], DataError, "0 sample"),
        (lambda rows: rows[:, :0], DataError, "0 feature"),
        (lambda rows: rows[:, 0], LayoutError, "Reshape your data"),
        (lambda rows: rows[:, :, None], LayoutError, "got 3D array"),
        (lambda _: [[1.0, 2.0], [3.0]], LayoutError, "give every row as many values"),
        (lambda _: "/no/such/cells.zarr", StoreReadError, "no store at /no/such/cells.zarr"),
    ],
)
def test_unusable_data__say_what_they_are(make, values, kind, error, message):
    with pytest.raises(error, match=message):
        make().fit(kind(values))


def test_sample_dim__that_is_not_there(make, data):
    with pytest.raises(LayoutError, match=r"'cell'.*with sample_dim$"):
        make(sample_dim="cell").fit(data)


@pytest.mark.parametrize(
    ("view", "points", "message"),
    [
        ("nowhere", [1.0], "view 'nowhere'; .*view1, view2, view3"),
        ("view1", np.ones((4, 2)), r"\(4, 2\); view 'view1' has 1 feature"),
        ("view1", 0.5, r"points have shape \(\)"),
    ],
)
def test_component_density__refuses_other_points(model, view, points, message):
    with pytest.raises((ViewError, ParameterError), match=message):
        model.component_density(view, points)


def test_component_density__of_a_wide_view_needs_rows(wide_model):
    with pytest.raises(ParameterError, match=r"view 'b' has 2 feature\(s\), .*\(n, 2\)"):
        wide_model.component_density("b", np.ones(6))


def test_expectation__refuses_functions_of_another_shape(model):
    with pytest.raises(ParameterError, match=r"f returned shape \(\)"):
        model.expectation("view1", lambda _: 1.0)


def test_write__refuses_unknown_outputs(model, data, tmp_path):
    with pytest.raises(ParameterError, match=r"probability, .*labels"):
        model.write(data, tmp_path / "out.zarr", outputs=("labels",))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [0, -3, 2.5])
def test_sample__refuses_other_counts(model, count):
    with pytest.raises(ParameterError, match=f"n_samples is {count}"):
        model.sample(count)


def test_memory_limit__that_is_too_small_is_refused_before_a_row_is_read(make, values):
    calls = []
    lazy = da.map_blocks(
        lambda block: calls.append(len(block)) or block,
        da.from_array(values, chunks=(1000, 3)),
        meta=np.empty((0, 0)),
    )
    model = make(n_landmarks=2000, pilot_rows=20_000)
    assert "NO: a process needs" in str(model.plan(lazy, memory_limit="1MB"))
    with pytest.raises(PlanError, match=r"does not fit: .* [\d.]+ GiB a process"):
        model.fit(lazy, memory_limit="1MB")
    assert calls == []
    with pytest.raises(NotFittedError):
        model.predict(values)
