"""Views: columns of named groups of features, and what is said of those that make no sense."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.data.rows.views import Views
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
        ({"t": []}, FEATURES, "view 't' has no features"),
        (
            {"t": ["CD3"], "b": ["CD19", "CD3"]},
            FEATURES,
            "'CD3' is in view 't' and .* view 'b'; ",
        ),
        ({"t": ["CD3", "CD3"]}, FEATURES, "'CD3' is in view 't' and .* view 't'"),
        ({"t": ["CD33"]}, FEATURES, "'CD33'; did you mean CD3"),
        ({"t": ["cd3"]}, FEATURES, "'cd3'; did you mean CD3"),
        ({"t": ["xyz"]}, FEATURES, "'xyz'; there are CD19, CD3, CD4, FSC-A"),
        ({"t": [4]}, FEATURES, "'t' names column 4; .* columns 0 to 3"),
        ({"t": [-1]}, FEATURES, "'t' names column -1; .* columns 0 to 3"),
        ({"t": [1.5]}, FEATURES, "view 't' names 1.5; .* or the index"),
        ({"t": [True]}, FEATURES, "view 't' names True; expected the name"),
        ({"t": "CD3"}, FEATURES, r"view 't' is 'CD3'; .*: \['CD3'\]"),
        ({"t": 2}, FEATURES, r"view 't' is 2; .*: \[2\]"),
        ([["CD3"], ["CD4"]], FEATURES, "views are list; expected a mapping"),
        ({"t": ["a"]}, ["a", "b", "a"], "'a' of view 't' occurs 2 times"),
        (None, ["a", "b", "a"], "'a' of view 'a' occurs 2 .*; rename"),
    ],
)
def test_resolve__refuses_with_a_remedy(views: object, features: list[str], words: str) -> None:
    with pytest.raises(ViewError, match=words) as caught:
        Views.resolve(views, features)  # type: ignore[arg-type]
    assert isinstance(caught.value, DataError)


def test_keeping__leaves_views_without_features_out():
    views = Views.resolve({"t": ["c", "a"], "b": ["d"], "m": ["b", "e"]}, list("abcde"))
    kept = views.keeping([1, 3, 4])
    assert kept.features == (("t", ("a",)), ("m", ("b", "e")))
    assert kept.columns == ((0,), (1, 4))
    assert views.keeping(range(5)) == views
