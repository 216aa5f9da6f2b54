"""Imports of whole files: what arrives in the store, and what is refused."""

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor.data.importers.fcs.events import iterate_fcs
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.panel import Panel
from bigtensor.data.importers.transforms import Arcsinh, Linear, Logicle, Transform
from bigtensor.data.opening import open_samples
from bigtensor.errors import (
    DataError,
    FileFormatError,
    FileFormatWarning,
    OutputError,
    ParameterError,
    TransformWarning,
    UnreadableFilesError,
)

FcsWriter = Callable[..., Path]

ZOO_READABLE = {
    "PBMC8_30min_patient1_BCR-XL.fcs": (2838, 35),
    "test_comp_example.fcs": (10703, 18),
    "SG_2014-09-26_Duplicate_Names.fcs": (8129, 9),
    "CFP_Well_A4.fcs": (10000, 16),
    "Sample_Well_A02.fcs": (37395, 8),
    "cyflow_cube_8.fcs": (725, 10),
}


def columns(seed: int, rows: int = 40, width: int = 3) -> list[np.ndarray]:
    """Some columns of signed fluorescence-like values."""
    rng = np.random.default_rng(seed)
    return list(rng.normal(scale=500, size=(width, rows)).astype("<f4"))


def test_fcs__transforms_dyes_and_leaves_scatter_linear(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    data = columns(1)
    path = write_fcs("a.fcs", data, {"$P2S": "CD3"}, names=["FSC-A", "FITC-A", "Time"])
    summary = import_files(path, tmp_path / "a.zarr", dtype="float64")
    store = xr.open_zarr(tmp_path / "a.zarr")
    assert store["feature"].values.tolist() == ["FSC-A", "CD3", "Time"]
    assert store["channel"].values.tolist() == ["FSC-A", "FITC-A", "Time"]
    assert store["marker"].values.tolist() == ["", "CD3", ""]
    np.testing.assert_allclose(store["X"][:, 1], np.arcsinh(data[1] / 150.0), rtol=1e-6)
    np.testing.assert_array_equal(store["X"][:, 0], data[0])
    np.testing.assert_array_equal(store["X"][:, 2], data[2])
    assert "raw" not in store
    assert (summary.rows, summary.features) == (40, ("FSC-A", "CD3", "Time"))
    stored = sum(f.stat().st_size for f in (tmp_path / "a.zarr").rglob("*") if f.is_file())
    assert summary.bytes == stored > 40 * 3


@pytest.mark.parametrize(
    ("options", "expected", "recorded"),
    [
        ({"cofactor": 5.0}, lambda x: np.arcsinh(x / 5), Arcsinh(5.0)),
        ({"transform": "logicle"}, Logicle(), Logicle()),
        ({"transform": Logicle(W=1.0)}, Logicle(W=1.0), Logicle(W=1.0)),
        ({"transform": "none"}, lambda x: x, Linear()),
        ({"transform": "arcsinh", "cofactor": 1}, np.arcsinh, Arcsinh(1.0)),
    ],
)
def test_fcs__transform_is_recorded_so_that_it_can_be_repeated(
    tmp_path: Path,
    write_fcs: FcsWriter,
    options: dict[str, object],
    expected: Callable[..., object],
    recorded: Transform,
) -> None:
    path = write_fcs("a.fcs", columns(1), names=["FSC-A", "A", "B"])
    import_files(path, tmp_path / "a.zarr", keep_raw=True, **options)  # type: ignore[arg-type]
    store = xr.open_zarr(tmp_path / "a.zarr")
    raw = store["raw"].values.astype(float)
    np.testing.assert_array_equal(raw, np.stack(columns(1), axis=1))
    np.testing.assert_allclose(store["X"][:, 1:], expected(raw[:, 1:]), rtol=1e-6, atol=1e-7)
    assert dict(store.attrs["transform"]) == {
        **recorded.parameters(),
        "untransformed": ["FSC-A"],
    }


def test_fcs__markers_of_several_channels_are_named_once(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    """The features had the names of the channels without a word."""
    markers = {"$P1S": "CD4", "$P2S": "CD4", "$P3S": "CD8"}
    files = [write_fcs(f"{i}.fcs", columns(i), markers, names=["B1", "R1", "V1"]) for i in (1, 2)]
    with pytest.warns(FileFormatWarning, match=r"the same marker .*\(CD4: B1, R1\)") as caught:
        summary = import_files(files, tmp_path / "cells.zarr")
    assert summary.features == ("B1", "R1", "CD8")
    assert len(caught) == 1
    rows = {"channel": ["B1", "R1", "V1"], "marker": ["CD4", "CD4b", "CD8"], "role": ["use"] * 3}
    panel = pd.DataFrame(rows)
    panel.to_csv(tmp_path / "panel.csv", index=False)
    summary = import_files(files, tmp_path / "named.zarr", panel=tmp_path / "panel.csv")
    assert summary.features == ("CD4", "CD4b", "CD8")


def test_fcs__untransformed_is_the_callers_choice(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", columns(1), {"$P2S": "CD3"}, names=["FSC-A", "FITC-A", "PE"])
    summary = import_files(path, tmp_path / "a.zarr", untransformed=["FITC-A", "PE"])
    assert summary.transform["untransformed"] == ["CD3", "PE"]
    x = xr.open_zarr(tmp_path / "a.zarr")["X"].values
    np.testing.assert_allclose(x[:, 0], np.arcsinh(columns(1)[0] / 150), rtol=1e-6)
    with pytest.raises(ParameterError, match=r"untransformed names \['CD8'\]"):
        import_files(path, tmp_path / "b.zarr", untransformed=["CD8"])


def test_fcs__mass_cytometry_gets_its_cofactor(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "fcs_zoo" / "PBMC8_30min_patient1_BCR-XL.fcs"
    summary = import_files(path, tmp_path / "a.zarr")
    assert summary.transform["cofactor"] == 5.0
    assert summary.transform["untransformed"] == ["Time", "Cell_length"]


def test_fcs__untransformed_features_are_not_used(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", columns(1), names=["FSC-A", "FITC-A", "PE-A"])
    summary = import_files(path, tmp_path / "a.zarr", untransformed=["PE-A"])
    assert summary.used == ("FITC-A",)
    assert summary.left_out == {"scatter": ("FSC-A",), "left linear": ("PE-A",)}


def test_bad_files__are_all_named_and_none_is_imported(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    write_fcs("a.fcs", columns(1))
    (tmp_path / "b.fcs").write_bytes(b"noise")
    write_fcs("c.fcs", columns(2), {"$MODE": "C"})
    with pytest.raises(UnreadableFilesError) as raised:
        import_files(tmp_path, tmp_path / "a.zarr")
    assert [reason.split(":")[0].split(" ")[0] for reason in raised.value.reasons] == [
        str(tmp_path / "b.fcs"),
        str(tmp_path / "c.fcs"),
    ]
    assert str(raised.value).startswith("2 of 3 files")
    assert not (tmp_path / "a.zarr").exists()
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (copy.reasons, str(copy)) == (raised.value.reasons, str(raised.value))
    (tmp_path / "b.fcs").write_bytes(b"")
    with pytest.raises(FileFormatError, match="is empty"):
        import_files(tmp_path, tmp_path / "a.zarr")


def test_fcs__mixed_instruments_need_a_cofactor(tmp_path: Path, write_fcs: FcsWriter) -> None:
    files = [
        write_fcs("a.fcs", columns(1), {"$CYT": "Helios"}),
        write_fcs("b.fcs", columns(2), {"$CYT": "LSRII"}),
    ]
    with pytest.raises(DataError, match="give cofactor"):
        import_files(files, tmp_path / "a.zarr")
    assert import_files(files, tmp_path / "a.zarr", cofactor=20).transform["cofactor"] == 20


def test_many_files__follow_each_other_and_are_named(tmp_path: Path, write_fcs: FcsWriter) -> None:
    first = write_fcs("a.fcs", columns(1, rows=30), names=["A", "B", "C"])
    second = write_fcs("b.fcs", columns(2, rows=20)[::-1], names=["C", "B", "A"])
    calls: list[tuple[int, int | None]] = []
    summary = import_files(
        [second, first],
        tmp_path / "o.zarr",
        transform="none",
        progress=lambda done, total: calls.append((done, total)),
    )
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert summary.files == ("b", "a")
    assert store["feature"].values.tolist() == ["C", "B", "A"]
    expected = np.concatenate(
        [np.stack(columns(2, rows=20)[::-1], 1), np.stack(columns(1, rows=30)[::-1], 1)]
    )
    np.testing.assert_array_equal(store["X"].values, expected)
    assert store["sample_id"].dtype == np.int32
    np.testing.assert_array_equal(store["sample_id"].values, np.repeat([0, 1], [20, 30]))
    assert store["sample_id"].attrs["categories"] == ["b", "a"]
    assert calls == [(20, 50), (50, 50)]


def test_many_files__differences_are_listed(tmp_path: Path, write_fcs: FcsWriter) -> None:
    files = [
        write_fcs("a.fcs", columns(1), names=["A", "B", "C"]),
        write_fcs("b.fcs", columns(2), names=["B", "A", "D"]),
        write_fcs("c.fcs", columns(3, width=2), names=["C", "B"]),
    ]
    with pytest.raises(DataError) as error:
        import_files(files, tmp_path / "o.zarr")
    assert "b.fcs lacks ['C'] and has ['D'] besides" in str(error.value)
    assert "c.fcs lacks ['A']. Import" in str(error.value)
    assert "channels='common'" in str(error.value)
    with pytest.warns(FileFormatWarning) as warned:
        made = import_files(files, tmp_path / "o.zarr", channels="common", transform="none")
    (message,) = (str(warning.message) for warning in warned)
    assert "A (a.fcs, b.fcs), C (a.fcs, c.fcs)" in message
    assert message in made.warnings
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert store.attrs["not_in_all_files"]["D"] == ["b.fcs"]
    assert store["feature"].values.tolist() == ["B"]
    assert store["channel"].values.tolist() == ["B"]
    expected = np.concatenate([columns(1)[1], columns(2)[0], columns(3, width=2)[1]])
    np.testing.assert_array_equal(store["X"].values[:, 0], expected)
    other = write_fcs("d.fcs", columns(4), names=["X", "Y", "Z"])
    with pytest.raises(DataError, match=r"no feature in common: a\.fcs has"):
        import_files([*files, other], tmp_path / "p.zarr", channels="common")


def test_like__a_file_without_spillover_matrix_names_a_way(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    spillover = {"$SPILLOVER": "2,A,B,1,0.1,0.2,1"}
    first = write_fcs("a.fcs", columns(1, width=2), spillover, names=["A", "B"])
    import_files(first, tmp_path / "a.zarr", compensate=True)
    other = write_fcs("b.fcs", columns(2, width=2), names=["A", "B"])
    with pytest.raises(DataError, match="In place of like"):
        import_files(other, tmp_path / "b.zarr", like=tmp_path / "a.zarr")


def test_many_files__equal_stems_keep_their_folders(tmp_path: Path) -> None:
    paths = []
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "a.csv")
        paths[-1].write_text("f\n1\n")
    assert import_files(paths, tmp_path / "o.zarr").files == (str(paths[0]), str(paths[1]))


def test_activation__compensated_with_its_gates(shared_data: Path, tmp_path: Path) -> None:
    files = [shared_data / "activation" / f"Activation_{i}.fcs" for i in (1, 12)]
    with np.load(shared_data / "activation" / "labels.npz") as archive:
        gates = {name: archive[name] for name in archive.files}
    names = gates.pop("label_names").tolist()
    import_files(
        files,
        tmp_path / "o.zarr",
        compensate=True,
        labels=gates,
        label_names=names,
        keep_raw=True,
    )
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert store["X"].shape == (100_000, 18)
    assert store["label"].attrs["categories"] == names
    expected = np.concatenate([gates["Activation_1"], gates["Activation_12"]])
    np.testing.assert_array_equal(store["label"].values, expected)
    compensated = np.concatenate(list(iterate_fcs(files[1], compensate=True)))
    dyes = [not n.startswith(("FSC", "SSC", "Time")) for n in store["channel"].values]
    assert sum(dyes) == 11
    x = store["X"].values[50_000:]
    np.testing.assert_allclose(
        x[:, dyes], np.arcsinh(compensated[:, dyes] / 150), rtol=2e-7, atol=1e-7
    )
    raw = np.concatenate(list(iterate_fcs(files[1])))
    np.testing.assert_array_equal(store["raw"].values[50_000:], raw.astype("float32"))
    (record,) = store.attrs["compensation"]
    assert record["files"] == ["Activation_1.fcs", "Activation_12.fcs"]
    matrix = np.array(record["spillover"]["matrix"])
    columns = [store["channel"].values.tolist().index(c) for c in record["spillover"]["channels"]]
    np.testing.assert_allclose(
        compensated[:, columns] @ matrix, raw[:, columns], rtol=1e-7, atol=1e-3
    )


def test_mouse_spleen__with_its_gating_result(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "mouse_spleen" / "68983.fcs"
    gates = pd.read_csv(path.with_name("gatingResult.csv"), header=None)[0].astype("category")
    import_files(
        path,
        tmp_path / "o.zarr",
        compensate=True,
        transform="logicle",
        labels={"68983": gates.cat.codes.to_numpy()},
        label_names=list(gates.cat.categories),
    )
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert store["X"].shape == (19_225, 18)
    assert {"CD3", "CD4", "CD19", "Qdot 605-A"} <= set(store["feature"].values)
    names = np.array(store["label"].attrs["categories"])[store["label"].values]
    np.testing.assert_array_equal(names, gates.to_numpy(str))
    cd19 = store["X"].sel(feature="CD19").values
    assert np.median(cd19[names == "B cells"]) > np.median(cd19[names == "CD4 T cells"]) + 0.1


@pytest.mark.parametrize(("name", "shape"), ZOO_READABLE.items())
def test_zoo__readable_files_are_imported(
    shared_data: Path, tmp_path: Path, name: str, shape: tuple[int, int]
) -> None:
    with warnings.catch_warnings():
        # some markers of these files are not stained
        warnings.simplefilter("ignore", TransformWarning)
        summary = import_files(shared_data / "fcs_zoo" / name, tmp_path / "o.zarr")
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert store["X"].shape == shape == (summary.rows, len(summary.features))
    assert np.isfinite(store["X"].values).all()


def test_zoo__choices_are_handed_on(shared_data: Path, tmp_path: Path) -> None:
    zoo = shared_data / "fcs_zoo"
    summary = import_files(zoo / "Beckman Coulter - Cyan.fcs", tmp_path / "a.zarr", offsets="text")
    assert summary.rows == 5789
    assert import_files(zoo / "coulter.lmd", tmp_path / "b.zarr", dataset=1).rows == 18110
    with pytest.warns(FileFormatWarning, match="further data sets"):
        summary = import_files(zoo / "coulter.lmd", tmp_path / "c.zarr")
    assert summary.warnings[0].startswith("coulter.lmd: the file holds further")


@pytest.mark.parametrize(
    "name",
    [
        "data_start_offset_discrepancy_example.fcs",
        "Beckman Coulter - Cyan.fcs",
        "Beckman Coulter - Cytomics FC500.LMD",
        "Cytek xP5.fcs",
        "corrupted.fcs",
        "sample_header.fcs",
    ],
)
def test_zoo__refused_files_leave_nothing(shared_data: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(FileFormatError) as error:
        import_files(shared_data / "fcs_zoo" / name, tmp_path / "o.zarr")
    assert name in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tables__keep_label_and_sample_id(tmp_path: Path, ending: str) -> None:
    frames = [
        pd.DataFrame({"f": [1.0, 2.0, 3.0], "kind": ["T", None, "B"], "donor": ["x", "y", "x"]}),
        pd.DataFrame({"kind": ["NK", "T"], "f": [4.0, 5.0], "donor": ["z", "y"]}),
    ]
    paths = [tmp_path / f"t{i}{ending}" for i in range(2)]
    for frame, path in zip(frames, paths, strict=True):
        frame.to_csv(path, index=False) if ending == ".csv" else frame.to_parquet(path)
    totals = set()
    summary = import_files(
        paths,
        tmp_path / "o.zarr",
        label="kind",
        sample_id="donor",
        progress=lambda _, total: totals.add(total),
    )
    store = xr.open_zarr(tmp_path / "o.zarr")
    assert store["X"].values.ravel().tolist() == [1, 2, 3, 4, 5]
    assert store["label"].attrs["categories"] == ["T", "B", "NK"]
    assert store["label"].values.tolist() == [0, -1, 1, 2, 0]
    assert store["sample_id"].attrs["categories"] == ["x", "y", "z"]
    assert store["sample_id"].values.tolist() == [0, 1, 0, 2, 1]
    assert summary.transform == {"name": "none", "untransformed": []}
    assert totals == ({None} if ending == ".csv" else {5})


def test_tables__may_be_transformed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("FSC-A,CD3\n100,100\n")
    import_files(path, tmp_path / "o.zarr", transform="arcsinh", cofactor=5)
    x = xr.open_zarr(tmp_path / "o.zarr")["X"].values
    np.testing.assert_allclose(x, [[100, np.arcsinh(20)]], rtol=1e-6)


def test_tables__numbers_too_large_for_the_store_are_located(tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "o.zarr"
    path.write_text("a,b\n" + "1,2\n" * 70_000 + "nan,inf\n3,-1e39\n")
    message = r"a: row 70001 \(from 0\) of 'b' holds -1e\+39, .* dtype='float64'"
    with pytest.raises(DataError, match=message):
        import_files(path, out)
    with pytest.raises(DataError, match=message):
        import_files(path, out, transform="arcsinh", cofactor=1, keep_raw=True)
    import_files(path, out, dtype="float64")
    assert xr.open_zarr(out)["X"][70_001, 1] == -1e39


def test_unreadable_files__are_named_together_whatever_is_wrong(tmp_path: Path) -> None:
    texts = {"ok.csv": "a,b\n1,2\n", "short.csv": "a,b\n1\n", "empty.csv": "", "t.docx": "a"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in ("nope.csv", *texts)]
    with pytest.raises(UnreadableFilesError) as raised:
        import_files(paths, tmp_path / "o.zarr")
    names = ["nope.csv", "short.csv", "empty.csv", "t.docx"]
    for name, reason in zip(names, raised.value.reasons, strict=True):
        assert str(tmp_path / name) in str(reason)
    assert "4 of 5" in str(raised.value)


def test_features__without_a_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [1.0], " ": [2.0]}).to_parquet(path)
    with pytest.raises(FileFormatError, match=r"feature 1 .*a\.parquet"):
        import_files(path, tmp_path / "o.zarr")


def test_path__that_leads_to_no_file_is_refused(tmp_path: Path) -> None:
    link, pipe = tmp_path / "link.csv", tmp_path / "pipe.csv"
    link.symlink_to(tmp_path / "gone.csv")
    os.mkfifo(pipe)
    for path, words in {
        link: r"link to .*gone\.csv, which does not exist",
        pipe: "is a pipe or a device",
        tmp_path / ("c" * 300 + ".csv"): "cannot be reached",
        tmp_path / "c\0.csv": "cannot be reached",
    }.items():
        with pytest.raises(FileFormatError, match=words):
            import_files(path, tmp_path / "o.zarr")


def test_anndata__is_imported(tmp_path: Path) -> None:
    import anndata

    values = np.random.default_rng(0).poisson(1, size=(50, 4)).astype("float32")
    obs = pd.DataFrame({"kind": list("ab") * 25}, index=[str(i) for i in range(50)])
    names = pd.DataFrame(index=[f"g{j}" for j in range(4)])
    anndata.AnnData(values, obs=obs, var=names).write_h5ad(tmp_path / "a.h5ad")
    import_files(tmp_path / "a.h5ad", tmp_path / "o.zarr", label="kind")
    store = xr.open_zarr(tmp_path / "o.zarr")
    np.testing.assert_array_equal(store["X"].values, values)
    assert store["label"].values.tolist() == [0, 1] * 25
    assert store["sample_id"].attrs["categories"] == ["a"]


def test_labels__are_checked(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path, out = write_fcs("a.fcs", columns(1)), tmp_path / "o.zarr"
    codes = np.arange(40) % 3 - 1
    import_files(path, out, labels={"a": codes})
    store = xr.open_zarr(out)
    np.testing.assert_array_equal(store["label"].values, codes)
    assert store["label"].attrs["categories"] == ["0", "1"]
    for labels, names, message in [
        ({"b": codes}, None, r"no labels for \['a'\]; there are for \['b'\]"),
        ({"a": codes[1:]}, None, r"shape \(39,\)"),
        ({"a": codes}, ["one"], "reach 1, but there are 1 names"),
        ({"a": codes - 1}, None, "from -1"),
        ({"a": codes * 0.5}, None, "must be integers"),
    ]:
        with pytest.raises(DataError, match=message):
            import_files(path, tmp_path / "p.zarr", labels=labels, label_names=names)


def test_paths__get_clear_errors(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path, out = write_fcs("a.fcs", columns(1)), tmp_path / "o.zarr"
    (tmp_path / "empty.csv").touch()
    (tmp_path / "notes.docx").write_text("x")
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    (tmp_path / "b.csv").write_text("a\n1\n")
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "empty.csv").touch()
    cases: list[tuple[list[Path], type[Exception], str]] = [
        ([], ParameterError, "no files"),
        ([tmp_path / "nowhere.fcs"], FileFormatError, "nowhere.fcs does not exist"),
        ([tables], FileFormatError, "is empty"),
        ([nothing], FileFormatError, r"holds no file that ends in one of \.fcs"),
        ([tmp_path / "day*.fcs"], FileFormatError, r"no file matches .*day\*"),
        ([tmp_path / "empty.csv"], FileFormatError, "is empty"),
        ([tmp_path / "notes.docx"], FileFormatError, r"unknown kind; known are \.fcs"),
        ([path, path], ParameterError, "given twice"),
        ([path, tmp_path / "b.csv"], ParameterError, "one kind at a time"),
    ]
    for paths, kind, message in cases:
        with pytest.raises(kind, match=message):
            import_files(paths, out)
    with pytest.raises(FileFormatError, match=r"ends in one of \.parquet, \.pq"):
        import_files(tmp_path, out, format="parquet")
    with pytest.raises(OutputError, match="does not exist; make it first"):
        import_files(path, tmp_path / "nowhere" / "o.zarr")
    assert not out.exists()
    import_files(path, out)
    with pytest.raises(OutputError, match="exists already"):
        import_files(path, out)
    import_files(path, out, overwrite=True)
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xls"}, "unknown format 'xls'"),
        ({"transform": "log"}, "unknown transform 'log'"),
        ({"transform": "none", "cofactor": 5}, "cofactor belongs to transform='arcsinh'"),
        ({"channels": "some"}, "'same' or 'common'"),
        ({"label": "kind"}, "label, and these files are fcs.*labels"),
        ({"offsets": "both"}, "'header' or 'text'"),
        ({"dtype": "int32"}, "float32 or float64"),
    ],
)
def test_parameters__are_checked(
    tmp_path: Path, write_fcs: FcsWriter, options: dict[str, object], message: str
) -> None:
    path = write_fcs("a.fcs", columns(1))
    with pytest.raises(ParameterError, match=message):
        import_files(path, tmp_path / "o.zarr", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "o.zarr").exists()


def test_parameters__of_fcs_do_not_fit_tables(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match=r"FCS files take .*csv"):
        import_files(tmp_path / "b.csv", tmp_path / "o.zarr", compensate=True)


def test_interrupted_import__leaves_nothing(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", columns(1))

    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_files(path, tmp_path / "o.zarr", progress=stop)
    assert [p.name for p in tmp_path.iterdir()] == ["a.fcs"]


def test_optional_packages__are_named_when_missing(tmp_path: Path, write_fcs: FcsWriter) -> None:
    """Run in a process of its own, in which the optional packages cannot be found."""
    (tmp_path / "b.csv").write_text("a\n1\n")
    (tmp_path / "c.h5ad").write_bytes(b"x")
    files = {
        write_fcs("a.fcs", columns(1)): "",
        tmp_path / "b.csv": "pip install 'bigtensor[tables]'",
        tmp_path / "c.h5ad": "pip install 'bigtensor[cytometry]'",
    }
    for path, advice in files.items():
        code = (
            "import sys\n"
            "for name in ('flowio', 'pandas', 'pyarrow', 'anndata', 'dask'):\n"
            "    sys.modules[name] = None\n"
            "from bigtensor.data.importers.files import import_files\n"
            "try:\n"
            f"    import_files({str(path)!r}, {str(path.with_suffix('.zarr'))!r})\n"
            "except ImportError as error:\n"
            "    print(error)\n"
        )
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
        )
        assert advice in run.stdout
        assert bool(advice) == bool(run.stdout)


def test_fcs__without_events_among_others_is_named(write_fcs: FcsWriter, tmp_path: Path) -> None:
    files = [write_fcs("a.fcs", columns(1)), write_fcs("b.fcs", [c[:0] for c in columns(1)])]
    with pytest.warns(FileFormatWarning, match="files without rows: b"):
        summary = import_files(files, tmp_path / "out.zarr")
    assert summary.rows == len(columns(1)[0])


def test_fcs__with_events_that_tot_denies_is_refused(write_fcs: FcsWriter, tmp_path: Path) -> None:
    path, rows = write_fcs("a.fcs", columns(1), {"$TOT": 0}), len(columns(1)[0])
    with pytest.raises(FileFormatError, match=rf"hold {rows} events .* \$TOT says 0"):
        import_files(path, tmp_path / "out.zarr")


def _stained(rng: np.random.Generator, size: float) -> list[np.ndarray]:
    """Return scatter and two markers of a size, the first of which spills into the second."""
    columns = [rng.uniform(1e4, 1e5, 500), *(rng.lognormal(0, 1, (2, 500)) * size)]
    return [column.astype("<f4") for column in columns]


def test_like__repeats_the_import_of_a_store(tmp_path: Path, write_fcs: FcsWriter) -> None:
    rng = np.random.default_rng(0)
    keywords = {"$SPILLOVER": "2,FITC-A,PE-A,1,0.3,0,1", "$P2S": "CD3"}
    names = ["FSC-A", "FITC-A", "PE-A"]
    bright = write_fcs("a.fcs", _stained(rng, 2000), keywords, names=names)
    dim = write_fcs("b.fcs", _stained(rng, 10), keywords, names=names)
    panel = Panel(names, ["", "CD3", "CD4"], ["scatter", "use", "use"])
    first = import_files(bright, tmp_path / "a.zarr", compensate=True, panel=panel)
    alone = import_files(dim, tmp_path / "alone.zarr", compensate=True, panel=panel)
    assert first.transform["cofactor"] != alone.transform["cofactor"]
    with pytest.warns(TransformWarning, match="nearly linear"):
        again = import_files(dim, tmp_path / "b.zarr", like=tmp_path / "a.zarr")
    assert again.features == first.features
    assert again.transform == first.transform
    assert again.used == ("CD3", "CD4")
    assert again.spillover["compensation"]
    assert open_samples([tmp_path / "a.zarr", tmp_path / "b.zarr"]).rows == 1000
    with pytest.raises(DataError, match=rf"cofactor {alone.transform['cofactor']:g}\b"):
        open_samples([tmp_path / "a.zarr", tmp_path / "alone.zarr"])
    for name, value in {"cofactor": 5, "compensate": True, "panel": panel}.items():
        options = {name: value, "like": tmp_path / "a.zarr"}
        with pytest.raises(ParameterError, match=f"leave out {name}"):
            import_files(dim, tmp_path / "c.zarr", **options)


def test_like__refuses_a_store_without_a_transform_to_repeat(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    path = write_fcs("a.fcs", _stained(np.random.default_rng(0), 2000), names=["FSC-A", "A", "B"])
    import_files(path, tmp_path / "a.zarr", transform=Arcsinh((150.0, 5.0)))
    with pytest.raises(DataError, match="cannot be made again"):
        import_files(path, tmp_path / "b.zarr", like=tmp_path / "a.zarr")


def test_spillover__that_is_left_is_recorded(tmp_path: Path, write_fcs: FcsWriter) -> None:
    columns, names = _stained(np.random.default_rng(0), 2000), ["FSC-A", "A", "B"]
    with_matrix = write_fcs("a.fcs", columns, {"$SPILLOVER": "2,A,B,1,0.3,0,1"}, names=names)
    unmixed = write_fcs("b.fcs", columns, {"$SPILLOVER": "2,A,B,1,0,0,1"}, names=names)
    summary = import_files([with_matrix, unmixed], tmp_path / "a.zarr")
    expected = {"channels": ["A", "B"], "files": ["a.fcs"]}
    assert summary.spillover == {"compensation": [], "uncompensated": expected}
    assert xr.open_zarr(tmp_path / "a.zarr").attrs["uncompensated"] == expected
    assert "uncompensated" not in import_files(unmixed, tmp_path / "b.zarr").spillover


def test_like__needs_no_channel_that_a_fit_does_not_use(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    columns, names = _stained(np.random.default_rng(0), 2000), ["FSC-A", "A", "B"]
    panel = Panel(names, ["", "CD3", "CD4"], ["scatter", "use", "use"])
    import_files(write_fcs("a.fcs", columns, names=names), tmp_path / "a.zarr", panel=panel)
    later = write_fcs("b.fcs", columns[1:], names=names[1:])
    again = import_files(later, tmp_path / "b.zarr", like=tmp_path / "a.zarr")
    assert again.features == ("CD3", "CD4")
    without_marker = write_fcs("c.fcs", columns[:2], names=names[:2])
    with pytest.raises(DataError, match="'B'"):
        import_files(without_marker, tmp_path / "c.zarr", like=tmp_path / "a.zarr")


@pytest.mark.parametrize("record", ["affine", [1, 2], {"name": "none", "untransformed": None}])
def test_like__reads_records_of_other_programs(
    tmp_path: Path, write_fcs: FcsWriter, record: object
) -> None:
    columns, names = _stained(np.random.default_rng(0), 2000), ["FSC-A", "A", "B"]
    path = write_fcs("a.fcs", columns, names=names)
    import_files(path, tmp_path / "a.zarr", transform="none")
    cells = xr.open_zarr(tmp_path / "a.zarr").assign_attrs(transform=record)
    cells.to_zarr(tmp_path / "other", consolidated=False)
    if isinstance(record, dict):
        again = import_files(path, tmp_path / "b.zarr", like=tmp_path / "other")
        assert again.transform["name"] == "none"
    else:
        with pytest.raises(DataError, match="no record of an import"):
            import_files(path, tmp_path / "b.zarr", like=tmp_path / "other")
