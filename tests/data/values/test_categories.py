"""Codes with named categories, wherever they come from."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block import UNKNOWN_CODE
from bigtensor.data.rows.samples import Samples
from bigtensor.data.stores.stored_arrays import create_array
from bigtensor.data.values import categories as categories_module
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import DataError, LayoutError, LayoutWarning, MissingValueWarning
from bigtensor.statistics.base import Pass, SumStatistic

COLOURS = np.array(["red", "blue", "", "red", "green"])
SIZES = np.array(["small", "large", "small", "", "small"])
CATEGORIES = {"colour": ("blue", "green", "red"), "size": ("large", "small")}
CODES = np.array([[2, 1], [0, 0], [-1, 1], [2, -1], [1, 1]], np.int32)


def blocks_of(samples: Samples) -> Any:
    return np.concatenate([b.values for b in samples.blocks([(0, samples.rows)], 2)])


def labelled(values: Any, **attrs: Any) -> xr.DataArray:
    coords = {"feature": ["colour", "size"]}
    return xr.DataArray(values, coords, ("sample", "feature"), name="X", attrs=attrs)


def named_codes() -> xr.DataArray:
    return labelled(CODES, categories={name: list(known) for name, known in CATEGORIES.items()})


def stored(folder: Path) -> str:
    data = named_codes().to_dataset()
    data["feature"] = data["feature"].astype(np.dtypes.StringDType())
    data.to_zarr(folder / "codes.zarr", consolidated=False)
    return str(folder / "codes.zarr")


STRINGS = np.column_stack([COLOURS, SIZES])
FORMS = {
    "codes": lambda _: named_codes(),
    "data set": lambda _: named_codes().to_dataset(),
    "store": stored,
    "lazy": lambda _: named_codes().chunk({"sample": 2}),
    "strings": lambda _: labelled(STRINGS),
    "strings of objects": lambda _: labelled(np.where(STRINGS == "", None, STRINGS)),
    "data set of strings": lambda _: labelled(STRINGS).to_dataset(),
    "strings transposed": lambda _: labelled(STRINGS).T,
    "table": lambda _: (
        pd.DataFrame({"colour": COLOURS, "size": SIZES})
        .replace("", pd.NA)
        .astype({"colour": "category", "size": "string"})
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_codes__have_the_same_categories_in_every_form(tmp_path: Path, form: str) -> None:
    samples = open_samples(FORMS[form](tmp_path))
    assert samples.kind == "codes"
    assert samples.categories == CATEGORIES
    assert samples.features == ("colour", "size")
    if form == "lazy":
        np.testing.assert_array_equal(samples.sources[0].read(0, 5).values, CODES)
    else:
        found = blocks_of(samples)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, CODES)


def test_codes__of_a_plain_array_count_up_to_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = open_samples(np.array([[0, 2], [1, -1]], np.int8))
    assert samples.categories == {"x0": ("0", "1"), "x1": ("0", "1", "2")}
    assert blocks_of(samples).dtype == np.int8
    strings = open_samples(np.array([["b"], ["a"]]))
    assert strings.categories == {"x0": ("a", "b")}
    monkeypatch.setattr(categories_module, "MOST_CATEGORIES", 3)
    assert open_samples(np.array([[2]])).categories == {"x0": ("0", "1", "2")}
    assert open_samples(np.array([[3]])).categories is None
    assert open_samples(np.array([[-2]])).categories is None
    assert open_samples(da.zeros((2, 2), dtype=int)).categories is None


def test_kind__of_floats_is_measured_and_has_no_categories() -> None:
    samples = open_samples(np.zeros((2, 2)))
    assert (samples.kind, samples.categories) == ("measured", None)


def test_fingerprint__changes_with_the_name_of_a_category() -> None:
    renamed = {"colour": ["cyan", *CATEGORIES["colour"][1:]], "size": CATEGORIES["size"]}
    prints = {
        open_samples(array).fingerprint()
        for array in (named_codes(), labelled(CODES, categories=renamed), labelled(CODES))
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        (["blue", "red"], "is list; expected a mapping"),
        ({"colour": ["blue"]}, "no list of names for the feature 'size'"),
        ({"colour": ["blue"], "size": "large"}, "no list of names for the feature 'size'"),
    ],
)
def test_categories__that_are_no_lists_of_features_are_refused(attribute: Any, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        open_samples(labelled(CODES, categories=attribute))


def test_codes__of_other_categories_are_not_read_as_one() -> None:
    others = {"colour": ["red", "blue", "grey"], "size": ["small", "large"]}
    lazy = [named_codes().chunk(), labelled(CODES, categories=others).chunk()]
    with pytest.raises(DataError, match=r"other categories than .* one store"):
        open_samples(lazy)


@pytest.mark.parametrize(
    "parts",
    [
        [np.array([[0, 1], [2, 0]]), np.array([[4, -1], [1, 3]])],
        [np.array([["no", "b"], ["yes", "a"]]), np.array([["maybe", "c"], ["no", "a"]])],
        [pd.DataFrame({"q": ["x", "y"]}, dtype="category"), pd.DataFrame({"q": ["y", None, "z"]})],
        [labelled(np.array([["u", "v"]])), labelled(np.array([["w", "v"], ["u", ""]]))],
    ],
)
def test_data_sets_in_memory__share_their_categories(parts: list[Any]) -> None:
    """Each data set alone has fewer categories than all of them."""
    together = open_samples(parts)
    assert together.categories is not None

    def names_of(samples: Samples) -> list[list[str | None]]:
        assert samples.categories is not None
        names = [samples.categories[feature] for feature in samples.features]
        ranges = [*pairwise([*samples.offsets, samples.rows])]
        return [
            [None if code < 0 else own[code] for own, code in zip(names, row, strict=True)]
            for block in samples.blocks(ranges, block_rows=100)
            for row in block.dense_values.tolist()
        ]

    assert names_of(together) == [row for part in parts for row in names_of(open_samples(part))]


def test_integers_in_memory__are_measured_if_one_data_set_holds_no_codes() -> None:
    parts = [np.array([[0, 1], [2, 0]]), np.array([[-5, 1], [1, 3]])]
    assert open_samples(parts).categories is None
    assert open_samples(np.concatenate(parts)).categories is None


@pytest.mark.parametrize(
    "strings", [np.array([["0", "1"], ["1", "0"]]), labelled(np.array([["0", "1"], ["1", "0"]]))]
)
def test_strings_of_numbers__are_not_read_as_measured_integers(strings: Any) -> None:
    values: Any = np.array([[-5, 1]], np.int32)
    integers = labelled(values) if isinstance(strings, xr.DataArray) else values
    with pytest.raises(DataError, match="other categories"):
        open_samples([strings, integers])


def test_empty_data_set__is_named_beside_others() -> None:
    for codes in (np.array([[0, 1]]), np.array([["a", "b"]])):
        integers = open_samples(codes).sources[0].dtype
        with pytest.raises(DataError, match=r"array with 0 sample\(s\)"):
            open_samples([codes, np.zeros((0, 2), integers)])


def test_strings__in_a_store_or_behind_a_graph_are_refused(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "s.zarr")
    names = ("sample", "feature")
    made = create_array(group, "X", shape=(5, 2), dtype="string", dimensions=names)
    made[:] = STRINGS.astype(object)
    url = tmp_path / "s.zarr"
    with pytest.raises(DataError, match=r"'X' of .* strings; .* with --codes"):
        open_samples(url)
    with pytest.raises(DataError, match="lazy strings"):
        open_samples(labelled(STRINGS).chunk({"sample": 2}))


def test_unknown_categories__are_named_where_rows_in_memory_have_them() -> None:
    known = {"x0": ("0", "1", "2"), "x1": ("0", "1")}
    for codes, words in (
        ([[9, 1], [0, 0]], "'9' of 'x0'"),
        ([[4, 3], [7, 1], [4, 2]], "'4', '7' of 'x0'; '2', '3' of 'x1'"),
    ):
        samples = open_samples(np.array(codes)).with_categories(known)
        assert samples.code_map is not None
        assert samples.code_map.describe_unknown(samples.sources) == words
    unused = pd.DataFrame({"x0": pd.Categorical(["0", "2"], ["0", "1", "2", "none"])})
    samples = open_samples(unused).with_categories(known)
    assert samples.code_map is not None
    assert samples.code_map.describe_unknown(samples.sources) == ""


@pytest.mark.parametrize("lazy", [False, True])
def test_codes__are_translated_to_known_categories_by_name(lazy: bool) -> None:
    known = {"colour": ("red", "blue"), "size": ("medium", "small", "large")}
    data = named_codes().chunk({"sample": 2}) if lazy else named_codes()
    samples = open_samples(data, {"a": ["size"], "b": ["colour"]}).with_categories(known)
    assert samples.categories == known
    assert samples.code_map is not None
    assert samples.code_map.describe_unknown(samples.sources) == "'green' of 'colour'"
    assert samples.fingerprint() != open_samples(data).fingerprint()
    wanted = [[1, 0], [2, 1], [1, -1], [-1, 0], [1, UNKNOWN_CODE]]
    if lazy:
        with open_runtime(scheduler="threads") as runtime:
            sums = run_pass(samples, Pass("sums", CodeSums()), runtime)
        np.testing.assert_array_equal(sums["sums"], np.sum(wanted, axis=0))
    else:
        np.testing.assert_array_equal(blocks_of(samples), wanted)


def test_codes__without_a_category_are_refused_when_they_are_read() -> None:
    few = labelled(CODES, categories={"colour": ["blue", "green"], "size": ["large", "small"]})
    with pytest.raises(DataError, match=r"'colour' has the code 2\b.* 0 to 1"):
        blocks_of(open_samples(few))


@dataclass(frozen=True)
class CodeSums(SumStatistic[Any]):
    """Sum of the codes of every feature."""

    def state_arrays(self) -> Any:
        return {"sums": ((2,), "int64")}

    def update(self, state: Any, block: Any, work: Any) -> None:  # noqa: ARG002
        state["sums"] += block.values[: block.rows].sum(axis=0)

    def finalize(self, state: Any) -> Any:
        return state

    def work_nbytes(self, rows: int) -> int:
        return 0 * rows


@pytest.mark.parametrize(
    "rows",
    [
        [["a", np.nan], ["b", "c"]],
        [("a", pd.NA), ("b", "c")],
        pd.DataFrame([["a", None], ["b", "c"]], dtype="string").to_numpy(),
        pd.DataFrame([["a", None], ["b", "c"]]).astype("category").to_numpy(),
    ],
)
def test_missing_entries__beside_strings_are_missing_in_lists_and_arrays(rows: Any) -> None:
    samples = open_samples(rows)
    assert samples.categories == {"x0": ("a", "b"), "x1": ("c",)}
    np.testing.assert_array_equal(blocks_of(samples), [[0, -1], [1, 0]])


def test_missing_entries__of_nullable_numbers_are_nan_in_arrays() -> None:
    rows = pd.DataFrame({"a": [1, None], "b": [2, 3]}, dtype="Int64").to_numpy()
    np.testing.assert_array_equal(blocks_of(open_samples(rows)), [[1, 2], [np.nan, 3]])


def test_texts_of_missing_values__are_a_warning_whose_remedy_works() -> None:
    table = pd.DataFrame({"q": ["yes", np.nan, "no"], "age": [30, 41, 30]})
    with pytest.raises(DataError, match=r"column 'q' .*astype\('category'\)"):
        open_samples(table)
    with pytest.warns(MissingValueWarning, match=r"\['q'\] .*astype\('category'\)"):
        samples = open_samples(table.astype(str))
    assert samples.categories == {"q": ("nan", "no", "yes"), "age": ("30", "41")}
    samples = open_samples(table.astype("category"))
    assert samples.categories == {"q": ("no", "yes"), "age": ("30", "41")}
    np.testing.assert_array_equal(blocks_of(samples), [[1, 0], [-1, 1], [0, 0]])


@pytest.mark.parametrize("chunks", [None, {"sample": 2}])
def test_names_of_codes_that_are_no_integers__are_ignored_with_a_warning(chunks: Any) -> None:
    codes = named_codes().astype(float).assign_attrs(named_codes().attrs)
    with pytest.warns(LayoutWarning, match="'categories' of 'X' is ignored"):
        samples = open_samples(codes if chunks is None else codes.chunk(chunks))
    assert samples.categories is None


@pytest.mark.filterwarnings("error")
def test_another_attribute_of_the_name_of_categories__is_no_matter_of_measured_values() -> None:
    assert open_samples(labelled(CODES / 2, categories="sizes in mm")).categories is None
