"""Cells of 10x Genomics: a folder and an HDF5 file give the same store, and damage is an error."""

import gzip
import tracemalloc
import warnings

import anndata
import h5py
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.io import mmwrite
from scipy.sparse import csr_array

from bigtensor.data.importers.counts import tenx_hdf5, text_lines
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores import count_stores
from bigtensor.errors import DataError, FileFormatError, FileFormatWarning, ParameterError

IDS = [f"ENSG{number}" for number in range(12)]
SYMBOLS = ["CD3E", "MATR3", "MATR3", "", *(f"é{number}" for number in range(8))]
NAMES = ["CD3E", "MATR3 (ENSG1)", "MATR3 (ENSG2)", "ENSG3", *SYMBOLS[4:]]
BARCODES = [f"AAAC{number}-1" for number in range(50)]


@pytest.fixture
def cells():
    counts = default_rng(0).poisson(0.6, (50, 12))
    counts[[0, 17, 49]] = 0
    return csr_array(counts)


def lines(names, path):
    text = "".join(f"{name}\n" for name in names).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def features(types="Gene Expression", ids=IDS):
    types = [types] * len(ids) if isinstance(types, str) else types
    return ["\t".join(row) for row in zip(ids, SYMBOLS, types, strict=True)]


def folder_of(cells, folder, *, packed=".gz", prefix=""):
    folder.mkdir(exist_ok=True)
    mmwrite(folder / "m.mtx", cells.T.tocsc(), field="integer")
    lines((folder / "m.mtx").read_text().splitlines(), folder / f"{prefix}matrix.mtx{packed}")
    (folder / "m.mtx").unlink()
    lines(BARCODES[: cells.shape[0]], folder / f"{prefix}barcodes.tsv{packed}")
    lines(features(), folder / f"{prefix}features.tsv{packed}")
    return folder


def hdf5_of(cells, path, types="Gene Expression"):
    types = [types] * len(IDS) if isinstance(types, str) else types
    with h5py.File(path, "w") as file:
        matrix = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            matrix[name] = getattr(cells, name)
        matrix["shape"] = cells.shape[::-1]
        matrix["barcodes"] = np.array(BARCODES, "S")
        listed = {"id": IDS, "name": SYMBOLS, "feature_type": types}
        for name, texts in listed.items():
            matrix[f"features/{name}"] = np.array([text.encode() for text in texts])
    return path


@pytest.mark.parametrize("kind", ["packed", "plain", "prefix", "genes", "h5"])
def test_every_kind__gives_counts_and_names(cells, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(text_lines, "BATCH_NBYTES", 200)
    monkeypatch.setattr(tenx_hdf5, "_CELLS", 7)
    monkeypatch.setattr(count_stores, "_NAMES", 8)
    if kind == "h5":
        path = hdf5_of(cells, tmp_path / "filtered_feature_bc_matrix.h5")
    else:
        options = {"plain": {"packed": ""}, "genes": {"packed": ""}, "prefix": {"prefix": "GSM1_"}}
        path = folder_of(cells, tmp_path / "cells", **options.get(kind, {}))
    if kind == "genes":
        (path / "features.tsv").unlink()
        lines([line.rpartition("\t")[0] for line in features()], path / "genes.tsv")
    import_counts(path, tmp_path / "out.zarr")
    stored = anndata.io.read_zarr(tmp_path / "out.zarr")
    assert (cells != stored.X).nnz == 0
    assert list(stored.obs_names) == BARCODES
    assert list(stored.var_names) == NAMES
    assert list(stored.var["gene_ids"]) == IDS
    assert ("feature_types" in stored.var) == (kind != "genes")


def truncate(path):
    path.write_bytes(path.read_bytes()[:-12])


def repeat_an_id(path):
    lines(features(ids=[*IDS[:-1], IDS[0]]), path)


DAMAGE = {
    "truncated matrix": ("matrix.mtx.gz", truncate, r"matrix\.mtx\.gz cannot be read"),
    "truncated barcodes": ("barcodes.tsv.gz", truncate, r"barcodes\.tsv\.gz cannot be read"),
    "truncated features": ("features.tsv.gz", truncate, r"features\.tsv\.gz cannot be read"),
    "no barcodes": ("barcodes.tsv.gz", lambda path: path.unlink(), r"has no barcodes\.tsv"),
    "no features": ("features.tsv.gz", lambda path: path.unlink(), r"no features\.tsv or genes"),
    "no matrix": ("matrix.mtx.gz", lambda path: path.unlink(), r"has no matrix\.mtx"),
    "few barcodes": (
        "barcodes.tsv.gz",
        lambda path: lines(BARCODES[:-1], path),
        r"50 columns, .* has 49 lines",
    ),
    "many barcodes": (
        "barcodes.tsv.gz",
        lambda path: lines([*BARCODES, "x"], path),
        r"50 columns, .* has more than 50",
    ),
    "few features": (
        "features.tsv.gz",
        lambda path: lines(features()[1:], path),
        r"12 rows, .* has 11 lines",
    ),
    "repeated ID": ("features.tsv.gz", repeat_an_id, r"ID 'ENSG0' for several features"),
    "two matrices": (
        "matrix.mtx.gz",
        lambda path: lines([], path.with_name("b_matrix.mtx")),
        r"holds b_matrix\.mtx, matrix\.mtx\.gz",
    ),
}


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_folder__is_refused(cells, tmp_path, name, change, message):
    folder = folder_of(cells, tmp_path / "cells")
    change(folder / name)
    with pytest.raises(FileFormatError, match=message):
        import_counts(folder, tmp_path / "out.zarr")
    assert not [path for path in tmp_path.iterdir() if path != folder]


def test_damaged_hdf5__is_refused(cells, tmp_path):
    for name, message in (
        ("barcodes", "barcodes have the length"),
        ("indptr", "indptr have the length"),
        *((f"features/{text}", "features have .* 11 .* 12") for text in ("id", "name")),
        ("features/feature_type", "features have .* 11 .* 12"),
    ):
        path = hdf5_of(cells, tmp_path / "cells.h5")
        with h5py.File(path, "r+") as file:
            shorter = file["matrix"][name][:-1]
            del file["matrix"][name]
            file["matrix"][name] = shorter
        with pytest.raises(FileFormatError, match=message):
            import_counts(path, tmp_path / "out.zarr")
    path = hdf5_of(cells, tmp_path / "cells.h5")
    with h5py.File(path, "r+") as file:
        longer = np.append(file["matrix/data"][:], 1)
        del file["matrix/data"]
        file["matrix/data"] = longer
    with pytest.raises(FileFormatError, match="data have the length"):
        import_counts(path, tmp_path / "out.zarr")
    for name in ("indices", "indptr"):
        path = hdf5_of(cells, tmp_path / "cells.h5")
        with h5py.File(path, "r+") as file:
            file["matrix"][name][20] = 10_000
        with pytest.raises(DataError):
            import_counts(path, tmp_path / "out.zarr")
    path = hdf5_of(cells, tmp_path / "cells.h5")
    with h5py.File(path, "r+") as file:
        file["matrix/indptr"][0] = 1
    with pytest.raises(FileFormatError, match="data have the length"):
        import_counts(path, tmp_path / "out.zarr")
    with h5py.File(path, "r+") as file:
        del file["matrix/features/feature_type"]
    with pytest.raises(FileFormatError, match="has no features/feature_type"):
        import_counts(path, tmp_path / "out.zarr")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["hg19/data"] = [1]
    with pytest.raises(FileFormatError, match="give the folder with matrix"):
        import_counts(tmp_path / "other.h5", tmp_path / "out.zarr")


TYPES = ["Antibody Capture"] * 2 + ["Gene Expression"] * 7 + ["Peaks"] * 3


def cells_of_types(cells, folder, kind, types):
    if kind == "h5":
        return hdf5_of(cells, folder / "cells.H5", types)
    path = folder_of(cells, folder / "cells")
    lines(features(types), path / "features.tsv.gz")
    return path


@pytest.mark.parametrize("kind", ["folder", "h5"])
def test_several_types__may_be_chosen(cells, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(tenx_hdf5, "_CELLS", 7)
    path = cells_of_types(cells, tmp_path, kind, TYPES)
    with pytest.warns(FileFormatWarning, match=r"'Peaks' \(3\), only .*'Gene Expression'"):
        summary = import_counts(path, tmp_path / "genes.zarr")
    assert (summary.rows, summary.words) == (50, 7)
    genes = anndata.io.read_zarr(tmp_path / "genes.zarr")
    assert (cells[:, 2:9] != genes.X).nnz == 0
    assert list(genes.var["gene_ids"]) == IDS[2:9]
    # the other feature of this symbol was left out
    assert genes.var_names[0] == "MATR3"
    import_counts(path, tmp_path / "both.zarr", feature_types=["Peaks", "Antibody Capture"])
    both = anndata.io.read_zarr(tmp_path / "both.zarr")
    assert (cells[:, [0, 1, 9, 10, 11]] != both.X).nnz == 0
    assert list(both.var["feature_types"]) == TYPES[:2] + TYPES[9:]
    with pytest.raises(ParameterError, match=r"no .*'gene', but of .*'Peaks' \(3\)"):
        import_counts(path, tmp_path / "other.zarr", feature_types=["gene"])


@pytest.mark.parametrize("kind", ["folder", "h5"])
def test_several_types__without_gene_expression_have_to_be_chosen(cells, tmp_path, kind):
    types = ["Peaks"] * 6 + ["Antibody Capture"] * 6
    path = cells_of_types(cells, tmp_path, kind, types)
    with pytest.raises(ParameterError, match=r"'Peaks' \(6\).*choose .*feature_types"):
        import_counts(path, tmp_path / "out.zarr")
    path = cells_of_types(cells, tmp_path, kind, "Peaks")
    assert import_counts(path, tmp_path / "out.zarr").words == 12


@pytest.mark.parametrize("kind", ["folder", "h5"])
def test_repeated_barcode__is_a_warning(cells, tmp_path, monkeypatch, kind):
    barcodes = [*BARCODES[:-2], BARCODES[3], BARCODES[3]]
    monkeypatch.setattr("tests.data.importers.counts.test_tenx.BARCODES", barcodes)
    path = cells_of_types(cells, tmp_path, kind, "Gene Expression")
    with pytest.warns(FileFormatWarning, match="barcodes .* have: 1, such as 'AAAC3-1'"):
        import_counts(path, tmp_path / "out.zarr")
    with pytest.warns(UserWarning, match="not unique"):
        stored = anndata.io.read_zarr(tmp_path / "out.zarr")
    assert list(stored.obs_names) == barcodes
    assert (cells != stored.X).nnz == 0


def test_messages__speak_of_cells_and_features(cells, tmp_path):
    folder = folder_of(cells, tmp_path / "cells", packed="")
    matrix = (folder / "matrix.mtx").read_text()
    for old, new, message in (
        ("\n12 50 ", "\n12 50000000000 ", "declares 50,000,000,000 cells"),
        ("\n2 2 ", "\n13 2 ", "has the feature number 13, "),
        ("\n2 2 ", "\n2 51 ", "has the cell number 51, "),
        ("\n2 2 ", "\n2 2 -", "give counts of features"),
        ("\n2 2 ", "\nx 2 ", "'x 2 1'; expected .*feature, cell, count"),
        ("\n2 2 ", "\n2 4 ", "a cell are not consecutive"),
    ):
        assert old in matrix
        (folder / "matrix.mtx").write_text(matrix.replace(old, new, 1))
        with pytest.raises(DataError, match=message) as error:
            import_counts(folder, tmp_path / "out.zarr")
        assert "word" not in str(error.value)
        assert "document" not in str(error.value)


def test_folder__is_refused_where_it_is_of_no_use(cells, tmp_path):
    folder = folder_of(cells, tmp_path / "cells")
    with pytest.raises(ParameterError, match="names its features itself"):
        import_counts(folder, tmp_path / "out.zarr", vocabulary=folder / "features.tsv.gz")
    with pytest.raises(FileFormatError, match="import --counts"):
        import_files(folder, tmp_path / "out.zarr")
    with pytest.raises(FileFormatError, match="import --counts"):
        import_files(folder / "matrix.mtx.gz", tmp_path / "out.zarr")


def test_folder__of_tables_beside_a_compensation_is_imported(tmp_path):
    folder = tmp_path / "cells"
    folder.mkdir()
    rows = default_rng(0).normal(size=(20, 2)).tolist()
    lines(["x,y", *(f"{x},{y}" for x, y in rows)], folder / "cells.csv")
    lines(["compensation"], folder / "comp_matrix.mtx")
    assert import_files(folder, tmp_path / "out.zarr").rows == 20


def test_folder__of_files_with_endings_in_capitals_is_read(cells, tmp_path):
    folder = folder_of(cells, tmp_path / "cells")
    for file in [*folder.iterdir()]:
        file.rename(file.with_suffix(".GZ"))
    assert import_counts(folder, tmp_path / "out.zarr").rows == 50
    with pytest.raises(FileFormatError, match="import --counts"):
        import_files(folder, tmp_path / "other.zarr")


def test_folder__that_macos_copied_is_read(cells, tmp_path):
    folder = folder_of(cells, tmp_path / "cells")
    (folder / "._matrix.mtx.gz").write_bytes(b"Mac OS X")
    assert import_counts(folder, tmp_path / "out.zarr").rows == 50


def peak_of_import(folder, out):
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_counts(folder, out)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow  # many cells
def test_memory__does_not_grow_with_cells(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "BATCH_NBYTES", 2**14)
    monkeypatch.setattr(count_stores, "CHUNK", 2**12)
    monkeypatch.setattr(count_stores, "_NAMES", 2**12)
    peaks = []
    for number, n_cells in enumerate((500, 5_000, 50_000)):
        folder = tmp_path / f"cells{number}"
        folder.mkdir()
        entries = [f"{cell % 12 + 1} {cell + 1} 3" for cell in range(n_cells)]
        head = "%%MatrixMarket matrix coordinate integer general"
        lines([head, f"12 {n_cells} {n_cells}", *entries], folder / "matrix.mtx.gz")
        lines((f"CELL{cell:012}-1" for cell in range(n_cells)), folder / "barcodes.tsv.gz")
        lines(features(), folder / "features.tsv.gz")
        del entries
        peaks.append(peak_of_import(folder, tmp_path / f"{number}.zarr"))
    assert peaks[2] < 1.3 * peaks[1]
