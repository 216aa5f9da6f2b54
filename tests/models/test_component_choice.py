import numpy as np
import pytest

from bigtensor.data.simulate import kernel_mixture
from bigtensor.errors import DataError, ParameterError
from bigtensor.models.component_choice import choose_component_count

VIEWS = {"a": slice(0, 1), "b": slice(1, 2), "c": slice(2, 3)}
GROUPS = [["a"], ["b"], ["c"]]
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("family", "n_components", "rows", "separation"),
    [
        ("gaussian", 3, 1000, 4.0),
        ("gaussian", 4, 2000, 4.0),
        ("gamma", 4, 2000, 4.0),
        ("gaussian", 4, 5000, 1.5),
    ],
)
def test_choose_component_count__finds_the_number_unaided(family, n_components, rows, separation):
    for seed in range(2):
        data = kernel_mixture(rows, n_components, family, separation, random_state=50 + seed)
        found = choose_component_count(data["X"].values, VIEWS, GROUPS, NAMES, random_state=seed)
        assert found.count == n_components


def test_choose_component_count__finds_eight_components():
    rows = kernel_mixture(5000, 8, random_state=3)["X"].values
    assert choose_component_count(rows, VIEWS, GROUPS, NAMES).count == 8


def test_choose_component_count__independent_views_show_one_component():
    for seed in range(4):
        rows = np.random.default_rng(seed).standard_normal((500, 3))
        assert choose_component_count(rows, VIEWS, GROUPS, NAMES, random_state=seed).count == 1


def test_choose_component_count__is_a_function_of_the_seed_and_not_of_units():
    rows = kernel_mixture(800, 3, random_state=1)["X"].values
    one = choose_component_count(rows, VIEWS, GROUPS, NAMES, random_state=5)
    same = choose_component_count(rows, VIEWS, GROUPS, NAMES, random_state=5)
    scaled = choose_component_count(1024.0 * rows, VIEWS, GROUPS, NAMES, random_state=5)
    for first, second, third in zip(one.by_group, same.by_group, scaled.by_group, strict=True):
        np.testing.assert_array_equal(first.null, second.null)
        assert first.count == third.count
        np.testing.assert_allclose(
            third.null / third.singular_values[0], first.null / first.singular_values[0], rtol=1e-6
        )


def test_choose_component_count__takes_views_of_several_features_and_groups_of_several_views():
    rows = kernel_mixture(2000, 3, views=6, random_state=2)["X"].values
    views = {"a": slice(0, 2), "b": slice(2, 3), "c": slice(3, 4), "d": slice(4, 6)}
    found = choose_component_count(
        rows, views, [["a"], ["b", "c"], ["d"]], list("pqrstu"), n_landmarks=40
    )
    assert found.count == 3
    assert len(found.by_group) == 3


def test_choose_component_count__few_rows_are_enough_for_clear_components():
    rows = kernel_mixture(60, 2, random_state=0)["X"].values
    assert choose_component_count(rows, VIEWS, GROUPS, NAMES).count == 2


def test_choose_component_count__bad_arguments_are_refused():
    rows = np.random.default_rng(0).standard_normal((100, 3))
    with pytest.raises(ParameterError, match="at least two groups of views, got 1"):
        choose_component_count(rows, VIEWS, GROUPS[:1], NAMES)
    rows[:, 1] = 7.0
    with pytest.raises(DataError, match="'b' has one value"):
        choose_component_count(rows, VIEWS, GROUPS, NAMES)
