"""Dataclasses of arrays in a Zarr group: exact, whole, and refused when damaged."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

import bigtensor
from bigtensor.data.stores.manifest import seal
from bigtensor.errors import ModelFileError, OutputError
from bigtensor.store import (
    FORMAT_VERSION,
    Contents,
    Packed,
    description_errors,
    pack,
    read_group,
    unpack,
    write_group,
)

ARRAYS = {
    "numbers": np.linspace(0, 1, 12).reshape(3, 4),
    "zeros": np.zeros((5, 2), np.float32),
    "codes": np.array([3, -1], np.int64),
    "flag": np.array(True),
    "none": np.empty((0, 7)),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "odd": np.array([np.nan, np.inf, -0.0]),
}
ATTRS = {
    "none": None,
    "whole": 3,
    "number": 0.1,
    "yes": True,
    "text": "ä <b>",
    "nested": {"z": [1, 2.5, None], "a": {}},
}


@pytest.fixture
def path(tmp_path) -> Path:
    return write_group(tmp_path / "group.zarr", Contents("Thing", ATTRS, ARRAYS))


def edit(path: Path, change) -> None:
    """Change the attributes of a group on disk."""
    described = json.loads((path / "zarr.json").read_text())
    change(described["attributes"])
    (path / "zarr.json").write_text(json.dumps(described))


def test_contents__come_back_as_they_were(path):
    found = read_group(path)
    assert found.kind == "Thing"
    assert found.attrs == ATTRS
    assert [type(value) for value in found.attrs.values()] == [
        type(value) for value in ATTRS.values()
    ]
    assert set(found.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert_array_equal(found.arrays[name], array)
    assert np.signbit(found.arrays["odd"][2])


@given(
    array=hnp.arrays(
        dtype=st.sampled_from([np.float64, np.float32, np.int64, np.bool_]),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    )
)
def test_any_array__comes_back_bit_for_bit(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "group.zarr"
    write_group(path, Contents("Thing", {}, {"array": array}))
    found = read_group(path).arrays["array"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_group__is_plain_zarr(path):
    group = zarr.open_group(str(path), mode="r")
    assert group.metadata.zarr_format == 3
    assert sorted(group.array_keys()) == sorted(ARRAYS)
    assert_array_equal(group["numbers"][...], ARRAYS["numbers"])


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 1000])
def test_newer_format__is_refused(path, version):
    edit(path, lambda attrs: attrs.update(bigtensor_format=version))
    with pytest.raises(ModelFileError, match=f"format version {version}.*upgrade bigtensor"):
        read_group(path)


@pytest.mark.parametrize("value", [None, "1", True, 1.5])
def test_other_format_marks__are_not_ours(path, value):
    edit(path, lambda attrs: attrs.update(bigtensor_format=value))
    with pytest.raises(ModelFileError, match="holds data, and a model"):
        read_group(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda attrs: attrs["contents"].update(whole=4),
        lambda attrs: attrs["contents"].pop("text"),
        lambda attrs: attrs.pop("contents"),
        lambda attrs: attrs.pop("digests"),
        lambda attrs: attrs.pop("digest"),
        lambda attrs: attrs["digests"].pop("zeros"),
        lambda attrs: attrs.update(kind="Other"),
    ],
)
def test_changed_description__is_refused(path, change):
    edit(path, change)
    with pytest.raises(ModelFileError, match="description is not what was written"):
        read_group(path)


def test_exchanged_arrays__are_refused(path, tmp_path):
    other = write_group(
        tmp_path / "other.zarr", Contents("Thing", {}, {"numbers": np.ones((3, 4))})
    )
    chunk = Path("numbers", "c", "0", "0")
    (path / chunk).write_bytes((other / chunk).read_bytes())
    seal(path)
    with pytest.raises(ModelFileError, match=r"'numbers' of .* is damaged"):
        read_group(path)


def test_missing_array__is_refused(path):
    (path / "codes" / "zarr.json").unlink()
    with pytest.raises(ModelFileError, match=r"array 'codes' or its codes/zarr\.json"):
        read_group(path)


def test_missing_path__is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="check the path"):
        read_group(tmp_path / "nothing")


def test_target_that_exists__is_kept(path):
    with pytest.raises(OutputError, match="exists already"):
        write_group(path, Contents("Other", {}, {}))
    assert read_group(path).kind == "Thing"


def test_overwriting__replaces_the_whole_group(path):
    write_group(path, Contents("Other", {}, {"new": np.ones(2)}), overwrite=True)
    assert set(read_group(path).arrays) == {"new"}
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["group.zarr"]


def test_failed_write__leaves_nothing(tmp_path):
    unwritable = Contents("Thing", {}, {"objects": np.array([{}, []], dtype=object)})
    with pytest.raises(Exception):  # noqa: B017, PT011
        write_group(tmp_path / "group.zarr", unwritable)
    assert list(tmp_path.iterdir()) == []


def test_attributes_that_json_does_not_hold__leave_nothing(tmp_path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_group(tmp_path / "group.zarr", Contents("Thing", {"a": np.ones(2)}, {}))
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True, eq=False)
class Leaf:
    values: np.ndarray
    doubled: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.values)


@dataclass(frozen=True, eq=False)
class Branch:
    left: Any
    right: Any
    by_name: Mapping[str, Any] = field(default_factory=dict)


CLASSES = (Leaf, Branch)


def test_pack__takes_apart_what_unpack_puts_together():
    leaf = Leaf(np.arange(6.0).reshape(2, 3).T)
    names = {"a/b": leaf, "a.b": Leaf(np.ones(2, np.float32)), "..": None, "ä" * 200: np.array(3)}
    value = Branch((1, -0.0, np.inf, True, "text", None), slice(1, None, 2), names)
    packed = pack(value, CLASSES)
    assert packed.objects == []
    assert json.loads(json.dumps(packed.tree)) == packed.tree
    assert all(name.isascii() and "/" not in name and len(name) < 100 for name in packed.arrays)
    again = unpack(packed, CLASSES)
    assert again.left == value.left
    assert [type(entry) for entry in again.left] == [type(entry) for entry in value.left]
    assert again.right == value.right
    assert list(again.by_name) == list(names)
    for name in ("a/b", "a.b"):
        assert_array_equal(again.by_name[name].values, names[name].values)
        assert again.by_name[name].values.dtype == names[name].values.dtype
        assert again.by_name[name].values.flags.c_contiguous
        assert_array_equal(again.by_name[name].doubled, names[name].doubled)
    assert again.by_name["ä" * 200] == 3


def test_pack__keeps_one_instance_one():
    leaf = Leaf(np.ones(3))
    packed = pack(Branch(leaf, (leaf, Leaf(np.ones(3)))), CLASSES)
    assert len(packed.arrays) == 2
    again = unpack(packed, CLASSES)
    assert again.left is again.right[0]
    assert again.left is not again.right[1]


def test_pack__hands_on_what_no_file_holds():
    function = np.square
    packed = pack(Branch(function, 1), CLASSES)
    assert packed.objects == [function]
    assert unpack(packed, CLASSES).left is function


def test_digest__is_of_the_contents(path):
    def digest(value):
        return pack(value, CLASSES).digest

    one = digest(Branch(Leaf(np.arange(6.0).reshape(2, 3).T), 1))
    assert one == digest(Branch(Leaf(np.ascontiguousarray(np.arange(6.0).reshape(2, 3).T)), 1))
    others = [
        Branch(Leaf(np.arange(6.0).reshape(3, 2)), 1),
        Branch(Leaf(np.arange(6.0).reshape(2, 3).T), 1.0),
        Branch(Leaf(np.arange(6.0, dtype=np.float32).reshape(2, 3).T), 1),
    ]
    assert len({one, *map(digest, others)}) == 4


@pytest.mark.parametrize(
    "tree",
    [
        {"class": "Other", "fields": {}},
        {"class": "Leaf", "fields": {}},
        {"class": "Leaf", "fields": {"values": {"array": "absent"}}},
        {"same": "value.nowhere"},
        {"object": 0},
        {"float": "many"},
        {"unknown": 1},
        {},
        {"mapping": [["one"]]},
    ],
)
def test_unpack__refuses_what_it_cannot_put_together(tree):
    contents = Contents("Thing", {}, {}, written_by="0.0.9")
    with (
        pytest.raises(ModelFileError, match=r"use bigtensor 0\.0\.9"),
        description_errors(contents),
    ):
        unpack(Packed(tree), CLASSES)


def test_description__of_this_version_asks_for_no_other_version():
    contents = Contents("Thing", {}, {}, written_by=bigtensor.__version__)
    with pytest.raises(ModelFileError) as caught, description_errors(contents):
        raise KeyError("missing")
    assert "or use" not in str(caught.value)
