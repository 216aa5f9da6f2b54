"""Views: columns of named groups of features, and what is said of those that make no sense."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.data.views import Views
from bigtensor.errors import DataError, ViewError

FEATURES = ["CD19", "CD3", "CD4", "FSC-A"]


def test_resolve__finds_columns_by_name_in_the_order_of_the_views() -> None:
    views = Views.resolve({"t": ["CD4", "CD3"], "b": ["CD19"]}, FEATURES)
    assert views.columns == ((2, 1), (0,))
    assert views.order == (2, 1, 0)
    assert views.names == ("t", "b")
    assert views.widths == (2, 1)
    assert views.slices == {"t": slice(0, 2), "b": slice(2, 3)}
    assert views.feature_names == ("CD4", "CD3", "CD19")
    assert views.as_mapping() == {"t": ["CD4", "CD3"], "b": ["CD19"]}


def test_resolve__takes_column_indices_and_names_them() -> None:
    views = Views.resolve({"a": [3], "b": np.array([0, 1])}, FEATURES)
    assert views.columns == ((3,), (0, 1))
    assert views.as_mapping() == {"a": ["FSC-A"], "b": ["CD19", "CD3"]}


def test_resolve__makes_every_feature_a_view_by_default() -> None:
    views = Views.resolve(None, FEATURES)
    assert views.names == tuple(FEATURES)
    assert views.columns == ((0,), (1,), (2,), (3,))


@given(st.data())
def test_slices__cut_the_reordered_columns_into_the_views(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    names = [f"f{i}" for i in range(n)]
    used = data.draw(st.permutations(names)).copy()
    views = {}
    while used:
        size = data.draw(st.integers(1, len(used)))
        views[f"v{len(views)}"], used = used[:size], used[size:]
    resolved = Views.resolve(views, names)
    row = np.array(names)[list(resolved.order)]
    assert {name: list(row[part]) for name, part in resolved.slices.items()} == views


@pytest.mark.parametrize(
    ("views", "features", "words"),
    [
        ({"t": []}, FEATURES, "view 't' has no features; name at least one or leave it out"),
        (
            {"t": ["CD3"], "b": ["CD19", "CD3"]},
            FEATURES,
            "feature 'CD3' is in view 't' and again in view 'b'; a feature belongs to one view",
        ),
        ({"t": ["CD3", "CD3"]}, FEATURES, "'CD3' is in view 't' and again in view 't'"),
        ({"t": ["CD33"]}, FEATURES, "unknown feature 'CD33'; did you mean CD3"),
        ({"t": ["xyz"]}, FEATURES, "unknown feature 'xyz'; there are CD19, CD3, CD4, FSC-A"),
        ({"t": [4]}, FEATURES, "view 't' names column 4; the data have columns 0 to 3"),
        ({"t": [-1]}, FEATURES, "view 't' names column -1; the data have columns 0 to 3"),
        ({"t": [1.5]}, FEATURES, "view 't' names 1.5; expected the name of a feature or the index"),
        ({"t": [True]}, FEATURES, "view 't' names True; expected the name of a feature"),
        ({"t": "CD3"}, FEATURES, "view 't' is 'CD3'; expected a list of features: ['CD3']"),
        ({"t": 2}, FEATURES, "view 't' is 2; expected a list of features: [2]"),
        ([["CD3"], ["CD4"]], FEATURES, "views are list; expected a mapping of view names"),
        ({"t": ["a"]}, ["a", "b", "a"], "feature 'a' of view 't' occurs 2 times in the data"),
        (None, ["a", "b", "a"], "feature 'a' of view 'a' occurs 2 times in the data; rename"),
    ],
)
def test_resolve__refuses_with_a_remedy(views: object, features: list[str], words: str) -> None:
    with pytest.raises(ViewError) as caught:
        Views.resolve(views, features)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert isinstance(caught.value, DataError)


def test_keeping__leaves_views_without_features_out():
    views = Views.resolve({"t": ["c", "a"], "b": ["d"], "m": ["b", "e"]}, list("abcde"))
    kept = views.keeping([1, 3, 4])
    assert kept.features == (("t", ("a",)), ("m", ("b", "e")))
    assert kept.columns == ((0,), (1, 4))
    assert views.keeping(range(5)) == views
