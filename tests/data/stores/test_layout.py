"""The layout on disk: what is written is read back by xarray and by plain zarr, or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import SampleStoreWriter, chunk_rows, shard_rows
from bigtensor.data.stores.leftovers import finished_name
from bigtensor.data.stores.manifest import MANIFEST
from bigtensor.errors import DataError, OutputError, ParameterError, StoreReadError

FEATURES = ["CD3", "CD4 β"]


@pytest.mark.parametrize(
    ("width", "itemsize", "chunk", "shard"),
    [
        (1, 4, 65_536, 16_777_216),
        (1, 1, 262_144, 67_108_864),
        (3, 1, 65_536, 16_777_216),
        (6, 4, 65_536, 2_097_152),
        (18, 4, 16_384, 524_288),
        (18, 8, 8_192, 262_144),
        (128, 4, 4_096, 131_072),
        (10_000, 4, 1_024, 1_024),
    ],
)
def test_rows__are_powers_of_two_within_the_byte_limits(
    width: int, itemsize: int, chunk: int, shard: int
) -> None:
    assert chunk_rows(width, itemsize) == chunk
    assert shard_rows(width, itemsize) == shard
    assert shard * width * itemsize <= max(64 * 2**20, chunk * width * itemsize)


def write(path: Path, values: np.ndarray, blocks: list[int], **options: object) -> None:
    """Write `values` in blocks of the given sizes, with a code and a weight for every row."""
    label = (np.arange(len(values)) % 3).astype("int32")
    with SampleStoreWriter(
        path,
        [f"f{j}" for j in range(values.shape[1])],
        row_variables={"label": ("int32", {"categories": ["a"]}), "weight": "float64"},
        **options,  # type: ignore[arg-type]
    ) as store:
        start = 0
        for size in blocks:
            rows = slice(start, start + size)
            store.append(values[rows], label=label[rows], weight=0.5)
            start += size
        store.set_categories("label", ["a", "b", "c"])


@pytest.mark.parametrize("announce", [False, True])
@pytest.mark.parametrize("rows", [1, 1_024, 1_500, pytest.param(2_500, marks=pytest.mark.slow)])
@pytest.mark.quick_cases("1-True", "1500-False")
def test_writer__keeps_every_row_for_any_block_sizes(
    tmp_path: Path, rows: int, announce: bool
) -> None:
    # 10,000 features: a shard is 1,024 rows, so that 2,500 rows are three shards.
    width = 10_000 if rows == 2_500 else 1_000
    values = np.random.default_rng(1).normal(size=(rows, width)).astype("float32")
    sizes = [min(700, rows - i) for i in range(0, rows, 700)]
    path = tmp_path / "a.zarr"
    write(path, values, sizes, rows=rows if announce else None)
    data = xr.open_zarr(path)
    assert data["X"].dims == ("sample", "feature")
    np.testing.assert_array_equal(data["X"].values, values)
    np.testing.assert_array_equal(data["label"].values, np.arange(rows) % 3)
    np.testing.assert_array_equal(data["weight"].values, np.full(rows, 0.5))
    assert data["label"].attrs["categories"] == ["a", "b", "c"]
    assert data["label"].dtype == np.int32
    assert data["weight"].dtype == np.float64


def test_writer__chunks_along_samples_only_and_aligns_row_variables(tmp_path: Path) -> None:
    values = np.zeros((1_100_000, 6), dtype="float32") + 1
    write(tmp_path / "a.zarr", values, [1_100_000])
    group = zarr.open_group(tmp_path / "a.zarr", mode="r")
    matrix, label = group["X"], group["label"]
    assert matrix.chunks == (65_536, 6)
    assert matrix.shards[1] == 6
    assert matrix.shards[0] % matrix.chunks[0] == 0
    assert label.shards == matrix.shards[:1]
    assert label.shards[0] % label.chunks[0] == 0
    assert label.chunks[0] % matrix.chunks[0] == 0


@pytest.mark.slow  # 120 MB; small shards are quick
def test_writer__writes_each_shard_in_one_piece(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3_000, 10_000)).astype("float32")
    write(tmp_path / "a.zarr", values, [1] * 5 + [2_995])
    files = sorted(p.name for p in (tmp_path / "a.zarr" / "X" / "c").iterdir())
    assert files == ["0", "1", "2"]
    assert zarr.open_array(tmp_path / "a.zarr" / "X", mode="r").shards is None


def test_writer__compresses_what_shrinks_and_checks_all_of_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    measured, counted = rng.normal(size=(5000, 3)), rng.poisson(0.3, (5000, 3))
    for name, values in (("measured", measured), ("counted", counted)):
        codes = {"label": ("int32", {})}
        with SampleStoreWriter(tmp_path / name, ["a", "b", "c"], row_variables=codes) as store:
            store.append(values, label=np.repeat(np.arange(5), 1000))
    codecs = {
        (name, variable): [type(codec).__name__ for codec in inner.compressors]
        for name in ("measured", "counted")
        for variable, inner in zarr.open_group(tmp_path / name, mode="r").arrays()
    }
    assert codecs["measured", "X"] == ["Crc32cCodec"]
    both = ["BloscCodec", "Crc32cCodec"]
    assert codecs["counted", "X"] == codecs["measured", "label"] == both
    for name, values in (("measured", measured), ("counted", counted)):
        np.testing.assert_array_equal(
            zarr.open_array(tmp_path / name, path="X")[:], values.astype("f4")
        )


def test_writer__stores_strings_and_raw_that_plain_zarr_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with SampleStoreWriter(
        path,
        FEATURES,
        dtype="float64",
        feature_coordinates={"channel": ["FL1-A", ""]},
        keep_raw=True,
        attrs={"transform": {"name": "arcsinh", "cofactor": 5.0}},
    ) as store:
        store.append([[1, 2], [3, 4]], raw=[[5, 6], [7, 8]])
    group = zarr.open_group(path, mode="r")
    assert list(group["feature"][:]) == FEATURES
    assert list(group["channel"][:]) == ["FL1-A", ""]
    assert group["raw"][:].tolist() == [[5, 6], [7, 8]]
    data = xr.open_zarr(path)
    assert data.attrs["transform"] == {"name": "arcsinh", "cofactor": 5.0}
    assert data.attrs["bigtensor_layout"] == 1
    assert data["X"].dtype == np.float64
    assert data["channel"].dims == ("feature",)
    assert data["X"].sel(feature="CD4 β").values.tolist() == [2, 4]


def test_writer__consolidates_the_metadata(tmp_path: Path) -> None:
    write(tmp_path / "a.zarr", np.ones((3, 2)), [3])
    metadata = json.loads((tmp_path / "a.zarr" / "zarr.json").read_text())
    arrays = metadata["consolidated_metadata"]["metadata"]
    assert set(arrays) == {"X", "feature", "label", "weight", MANIFEST}
    assert arrays["X"]["shape"] == [3, 2]
    assert arrays["label"]["attributes"]["categories"] == ["a", "b", "c"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_writer__leaves_nothing_after_an_exception(
    tmp_path: Path, error: type[BaseException]
) -> None:
    def interrupted() -> None:
        with SampleStoreWriter(tmp_path / "a.zarr", ["f"], rows=4) as store:
            store.append(np.ones((4, 1)))
            assert [finished_name(p.name) for p in tmp_path.iterdir()] == ["a.zarr"]
            raise error

    with pytest.raises(error):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_writer__refuses_an_existing_target_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    write(path, np.ones((3, 2)), [3])
    with pytest.raises(OutputError, match="exists already"):
        write(path, np.zeros((3, 2)), [3])
    write(path, np.zeros((4, 2)), [4], overwrite=True)
    assert xr.open_zarr(path)["X"].values.tolist() == [[0, 0]] * 4
    assert [p.name for p in tmp_path.iterdir()] == ["a.zarr"]


def test_writer__keeps_the_old_store_when_the_new_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    write(path, np.ones((3, 2)), [3])
    with pytest.raises(DataError, match="shape"):
        write(path, np.ones(3)[:, None, None], [3], overwrite=True)
    assert xr.open_zarr(path)["X"].values.tolist() == [[1, 1]] * 3


def test_writer__never_overwrites_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="not a Zarr store"):
        write(tmp_path / "home", np.ones((3, 2)), [3], overwrite=True)
    assert (tmp_path / "home" / "thesis.txt").read_text() == "years of work"


def test_writer__refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not exist; make it first"):
        write(tmp_path / "nowhere" / "a.zarr", np.ones((3, 2)), [3])


@pytest.mark.parametrize(
    ("blocks", "rows", "message"),
    [([], None, "no rows arrived"), ([2], 3, "2 rows arrived, but 3"), ([2, 2], 3, "4 rows")],
)
def test_writer__checks_the_number_of_rows(
    tmp_path: Path, blocks: list[int], rows: int | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        write(tmp_path / "a.zarr", np.ones((5, 2)), blocks, rows=rows)
    assert list(tmp_path.iterdir()) == []


def test_writer__checks_each_block(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with SampleStoreWriter(path, ["f", "g"], row_variables={"weight": float}) as store:
        with pytest.raises(DataError, match=r"shape \(2, 3\); expected \(2, 2\)"):
            store.append(np.ones((2, 3)), weight=1)
        with pytest.raises(DataError, match=r"'weight' has the shape \(3,\)"):
            store.append(np.ones((2, 2)), weight=np.ones(3))
        with pytest.raises(DataError, match="give exactly these"):
            store.append(np.ones((2, 2)))
        with pytest.raises(ParameterError, match="no row variable 'label'"):
            store.set_categories("label", ["a"])
        store.append(np.ones((2, 2)), weight=1)
    assert xr.open_zarr(path)["X"].shape == (2, 2)


def test_writer__needs_a_with_block(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="`with` block"):
        SampleStoreWriter(tmp_path / "a.zarr", ["f"]).append(np.ones((1, 1)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        ([], {}, "no features"),
        (["a", "b", "a"], {}, r"repeated: \['a'\]"),
        (["a"], {"dtype": "int64"}, "float32 or float64"),
        (["a"], {"row_variables": {"X": "int32"}}, "'X' is used twice"),
        (["a"], {"feature_coordinates": {"marker": ["a", "b"]}}, "2 values for 1 features"),
    ],
)
def test_writer__checks_names(
    tmp_path: Path, features: list[str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        SampleStoreWriter(tmp_path / "a.zarr", features, **options)  # type: ignore[arg-type]


def test_writer__full_disk_is_an_output_error(tmp_path: Path) -> None:
    """A file-size limit stands in for a full disk: the system refuses the write either way."""
    import resource
    import signal

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    values = np.random.default_rng(0).normal(size=(4_000, 100))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    try:
        with pytest.raises(OutputError, match="has free space"):
            write(tmp_path / "a.zarr", values, [4_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == []


def test_flipped_byte__is_refused_when_it_is_read(tmp_path):
    values = np.random.default_rng(0).normal(size=(4096, 6)).astype(np.float32)
    with SampleStoreWriter(tmp_path / "cells.zarr", list("abcdef")) as store:
        store.append(values)
    chunk = max(
        (tmp_path / "cells.zarr" / "X" / "c").rglob("*"), key=lambda file: file.stat().st_size
    )
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(ValueError, match="checksum"):
        np.asarray(zarr.open_group(tmp_path / "cells.zarr", mode="r")["X"][:])


def test_layout_of_a_later_version__is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.zarr"
    with SampleStoreWriter(path, ["a", "b"], attrs={"bigtensor_layout": 2}) as store:
        store.append(np.ones((3, 2)))
    with pytest.raises(StoreReadError, match=r"version 2 .* version 1: upgrade"):
        open_samples(path)
