"""Damage of any file of a store: it is refused, or the values read are those that were written."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bigtensor
from bigtensor.data.exporters.labels import open_labels
from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.zarr_datasets import open_dataset
from bigtensor.engine import answers_to_store
from bigtensor.errors import BigtensorError, StoreReadError
from bigtensor.store import Contents, read_group, write_group

ROWS = 3000
FLIPS = 100

Read = Callable[[Path], dict[str, Any]]


def cells(path: Path) -> Path:
    rng = np.random.default_rng(0)
    variables: dict[str, Any] = {
        "weight": "float64",
        "sequence": "int32",
        "sample_id": ("int32", {"categories": ["p", "q"]}),
    }
    with SampleStoreWriter(
        path,
        ["CD3", "CD4", "CD19"],
        rows=ROWS,
        row_variables=variables,
        feature_coordinates={"channel": ["", "", ""]},
        attrs={"transform": {"name": "arcsinh", "untransformed": []}},
    ) as store:
        store.append(
            rng.normal(size=(ROWS, 3)),
            weight=rng.uniform(1, 2, ROWS),
            sequence=np.arange(ROWS) // 500,
            sample_id=np.arange(ROWS) // 2000,
        )
    return path


def rows() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(h, 0.2, (300, 3)) for h in (-2, 0, 2)])


def fitted() -> bigtensor.KernelMixture:
    model = bigtensor.KernelMixture(n_components=3, merging=None, random_state=0)
    return model.fit(rows(), scheduler="threads")


def labels(path: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers_to_store, "CHUNK_ROWS", 400)
        return fitted().write(rows(), path, outputs=("label", "probability"), scheduler="threads")


def read_cells(path: Path) -> dict[str, Any]:
    samples = open_samples(path, groups="sample_id")
    columns = samples.sources[0].read(0, samples.rows)
    dataset = open_dataset(str(path))[1]
    try:
        variables = {str(name): found.to_numpy() for name, found in dataset.variables.items()}
    except ValueError as error:
        # xarray reads the other variables by itself, and its error is that of the checksum
        raise StoreReadError(f"{path}: {error}") from error
    return variables | {
        "features": samples.features,
        "groups": samples.groups,
        "views": samples.views.as_mapping(),
        "attrs": dataset.attrs,
        "codes": columns.group,
        **vars(columns),
    }


def read_labels(path: Path) -> dict[str, Any]:
    store = open_labels(path)
    blocks = list(store.blocks())
    return {
        "label": np.concatenate([block.label for block in blocks]),
        "probability": np.concatenate([block.probability for block in blocks]),
        "attrs": store.attrs,
    }


def read_contents(path: Path) -> dict[str, Any]:
    contents = read_group(path)
    return {"kind": contents.kind, "attrs": contents.attrs, **contents.arrays}


def saved_model(path: Path) -> Path:
    arrays = {"wide": np.linspace(0, 1, 3000).reshape(3, -1), "scalar": np.zeros(())}
    return write_group(path, Contents("Thing", {"names": ["a", "b"]}, arrays))


def saved_statistics(path: Path) -> Path:
    model = bigtensor.KernelMixture(n_components=3, random_state=0)
    model.prepare(rows(), scheduler="threads")
    return model.accumulate(rows(), scheduler="threads").save(path)


STORES: dict[str, tuple[Callable[[Path], Path], Read]] = {
    "samples": (cells, read_cells),
    "labels": (labels, read_labels),
    "model": (saved_model, read_contents),
    "statistics": (saved_statistics, read_contents),
}


@pytest.fixture(scope="module", params=STORES)
def store(request, tmp_path_factory) -> tuple[Path, Read]:
    make, read = STORES[request.param]
    return make(tmp_path_factory.mktemp("damage") / "whole.zarr"), read


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    if found.keys() != expected.keys():
        return False
    for name, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[name], value)
        elif found[name] != value:
            return False
    return True


@pytest.mark.quick_cases("labels", "model", "statistics")
def test_flipped_bits__are_refused_or_change_nothing(store, tmp_path):
    path, read = store
    files = sorted(file for file in path.rglob("*") if file.is_file())
    sizes = np.array([file.stat().st_size for file in files])
    rng = np.random.default_rng(7)
    expected = read(path)
    refused, silent = 0, []
    for number in range(FLIPS):
        # every second flip in any file alike, because metadata are small
        share = sizes / sizes.sum() if number % 2 else np.full(len(files), 1 / len(files))
        file = files[rng.choice(len(files), p=share)]
        content = file.read_bytes()
        position, bit = int(rng.integers(len(content))), int(rng.integers(8))
        damaged = bytearray(content)
        damaged[position] ^= 1 << bit
        file.write_bytes(damaged)
        try:
            if not same(read(path), expected):
                silent.append((str(file.relative_to(path)), position, bit))
        except BigtensorError:
            refused += 1
        finally:
            file.write_bytes(content)
    assert not silent
    assert refused > FLIPS / 2


def test_deleted_file__is_always_refused(store, tmp_path):
    path, read = store
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        name = file.relative_to(path)
        copy = Path(shutil.copytree(path, tmp_path / "copy.zarr"))
        (copy / name).unlink()
        with pytest.raises(BigtensorError) as caught:
            read(copy)
        assert str(copy) in str(caught.value)
        if "c" in name.parts:
            assert f"the first is {name}" in str(caught.value)
        shutil.rmtree(copy)


def test_truncated_file__is_always_refused(store, tmp_path):
    path, read = store
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        name = file.relative_to(path)
        copy = Path(shutil.copytree(path, tmp_path / "copy.zarr"))
        (copy / name).write_bytes(file.read_bytes()[:-1])
        with pytest.raises(BigtensorError, match=r"copy\.zarr"):
            read(copy)
        shutil.rmtree(copy)
