"""Panels: tables that spreadsheets write, and what an import makes of them."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.importers.fcs.file_panel import describe_panel, panel_of_files
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.panel import Panel
from bigtensor.data.opening import open_samples
from bigtensor.data.values.feature_roles import ROLES, Role
from bigtensor.errors import (
    DataError,
    FileFormatError,
    FileFormatWarning,
    OutputError,
    ParameterError,
)

FcsWriter = Callable[..., Path]

TABLE = "channel,marker,role\nFSC-A,,scatter\nFITC-A,CD3,use\nPE-A,,empty\n"
PANEL = Panel(["FSC-A", "FITC-A", "PE-A"], ["", "CD3", ""], ["scatter", "use", "empty"])
NAMES = ["FSC-A", "FITC-A", "PE-A"]


def columns(seed: int, rows: int = 200, width: int = 3) -> list[np.ndarray]:
    """Some columns of signed fluorescence-like values."""
    rng = np.random.default_rng(seed)
    return list(rng.normal(scale=500, size=(width, rows)).astype("<f4"))


@pytest.mark.parametrize(
    "content",
    [
        TABLE.encode(),
        TABLE.replace(",", ";").encode("utf-8-sig"),
        TABLE.replace(",", "\t").encode("utf-16"),
        ("sep=;\r\n" + TABLE.replace(",", ";").replace("\n", "\r\n")).encode(),
        ("\n" + TABLE.replace(",", " , ").replace("\n", "\n,,\n")).encode(),
        TABLE.replace("channel,marker,role", "Channel,Marker,ROLE").encode(),
        TABLE.replace("scatter", "Scatter").replace("use", " USE").encode(),
        b'role,x,channel,marker\nscatter,1,FSC-A,\nuse,2,FITC-A,CD3\nempty,3,"PE-A",\n',
    ],
)
def test_from_csv__reads_what_spreadsheets_write(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "panel.csv"
    path.write_bytes(content)
    assert Panel.from_csv(path) == PANEL


def test_from_csv__reads_names_of_old_encodings(tmp_path: Path) -> None:
    path = tmp_path / "panel.csv"
    path.write_bytes("channel;marker;role\nPE-A;TCR-µ;use\n".encode("cp1252"))
    assert Panel.from_csv(path).markers == ("TCR-µ",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("channel,marker\nA,B\n", "a panel has channel, marker, role"),
        ("channel,marker,role,role\nA,B,use,use\n", "column role twice"),
        ("channel,marker,role\nA,B,sctter\n", r"'sctter' \(is it 'scatter'\?\)"),
        ("channel,marker,role\nA,B,\n", "channel A has no role"),
        ("channel,marker,role\nA,B,use\nA,C,use\n", r"channels twice: \['A'\]"),
        ("channel,marker,role\nA,B,use\nC,B,use\n", "B to A, C"),
        ("channel,marker,role\nA,B,use\nB,,use\n", "B to A, B"),
        ("channel,marker,role\n,B,use\n", "line 2 names no channel"),
        ("channel,marker,role\nA,B\n", "line 2 has 2 cells"),
        ("channel,marker,role\nA,B,use,C\n", "line 2 has 4 cells"),
        ("channel,marker,role\n", "got 0 channels"),
    ],
)
def test_from_csv__refuses_what_is_no_panel(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "panel.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words) as raised:
        Panel.from_csv(path)
    assert str(path) in str(raised.value)


def test_from_csv__needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        Panel.from_csv(tmp_path / "panel.csv")


# an apostrophe would be taken for that before a formula, and csv joins line ends
CHARACTERS = st.characters(codec="utf-8", exclude_characters="'\x00\r")
CELLS = st.text(CHARACTERS, min_size=1, max_size=8).map(str.strip).filter(bool)
ROWS_OF_PANELS = st.lists(
    st.tuples(CELLS, st.sampled_from(ROLES)), min_size=1, max_size=5, unique_by=lambda row: row[0]
)


@settings(max_examples=50)
@given(ROWS_OF_PANELS)
def test_csv__keeps_every_name(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, Role]]
) -> None:
    channels = [f"channel {j}" for j in range(len(rows))]
    panel = Panel(channels, [name for name, _ in rows], [role for _, role in rows])
    path = tmp_path_factory.getbasetemp() / "panel.csv"
    panel.to_csv(path, overwrite=True)
    assert Panel.from_csv(path) == panel


def test_to_csv__never_replaces_a_file_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "panel.csv"
    PANEL.to_csv(path)
    assert path.read_text() == TABLE
    with pytest.raises(OutputError, match="exists"):
        PANEL.to_csv(path)
    PANEL.to_csv(path, overwrite=True)


def test_import__names_features_and_stores_roles(tmp_path: Path, write_fcs: FcsWriter) -> None:
    data = columns(1)
    path = write_fcs("a.fcs", data, {"$P3S": "CD8"}, names=NAMES)
    (tmp_path / "panel.csv").write_text(TABLE)
    summary = import_files(path, tmp_path / "a.zarr", panel=tmp_path / "panel.csv")
    store = xr.open_zarr(tmp_path / "a.zarr")
    assert store["feature"].values.tolist() == ["FSC-A", "CD3", "PE-A"]
    assert {"channel", "marker", "role"} <= set(store["X"].coords)
    assert store["channel"].values.tolist() == NAMES
    assert store["marker"].values.tolist() == ["", "CD3", ""]
    assert store["role"].values.tolist() == ["scatter", "use", "empty"]
    assert summary.used == ("CD3",)
    for opened in (tmp_path / "a.zarr", store, store["X"], store.load()):
        samples = open_samples(opened)
        assert samples.views.as_mapping() == {"CD3": ["CD3"]}
        assert samples.left_out == {"scatter": ("FSC-A",), "empty": ("PE-A",)}
    assert open_samples(store, {"a": ["FSC-A"]}).left_out == {"empty": ("PE-A",)}


def test_import__channels_that_the_panel_does_not_list_are_not_used(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    path = write_fcs("a.fcs", columns(1), {"$P3S": "CD3"}, names=NAMES)
    panel = Panel(["FITC-A"], ["CD3"], ["use"])
    summary = import_files(path, tmp_path / "a.zarr", panel=panel)
    assert summary.features == ("FSC-A", "CD3", "PE-A")
    assert summary.left_out == {"scatter": ("FSC-A",), "not in the panel": ("PE-A",)}


def test_import__panel_joins_files_with_other_names(tmp_path: Path, write_fcs: FcsWriter) -> None:
    files = [
        write_fcs("a.fcs", columns(1), {"$P2S": "CD3"}, names=NAMES),
        write_fcs("b.fcs", columns(2), {"$P2S": "cd-3"}, names=NAMES),
    ]
    with pytest.raises(DataError, match="differ"):
        import_files(files, tmp_path / "a.zarr")
    assert import_files(files, tmp_path / "a.zarr", panel=PANEL).rows == 400
    with pytest.warns(FileFormatWarning, match="cd-3"):
        assert panel_of_files(files).markers == ("", "CD3", "")


def test_import__scatter_that_a_panel_uses_stays_linear(
    tmp_path: Path, write_fcs: FcsWriter
) -> None:
    path = write_fcs("a.fcs", columns(1), names=NAMES)
    panel = Panel(NAMES, [""] * 3, ["use", "use", "time"])
    summary = import_files(path, tmp_path / "a.zarr", panel=panel)
    assert summary.used == ("FSC-A", "FITC-A")
    assert summary.transform["untransformed"] == ["FSC-A", "PE-A"]
    assert not open_samples(tmp_path / "a.zarr").has_common_units


def test_import__refuses_a_panel_of_other_channels(tmp_path: Path, write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", columns(1), names=NAMES)
    with pytest.raises(DataError, match=r"'FITC-a' \(is it 'FITC-A'\?\)"):
        import_files(path, tmp_path / "a.zarr", panel=Panel(["FITC-a"], ["CD3"], ["use"]))
    assert not (tmp_path / "a.zarr").exists()


def test_import__panel_of_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "a.csv").write_text("FL1,Batch\n1,2\n3,4\n")
    panel = Panel(["FL1", "Batch"], ["CD3", ""], ["use", "ignore"])
    summary = import_files(tmp_path / "a.csv", tmp_path / "a.zarr", panel=panel)
    assert (summary.features, summary.used) == (("CD3", "Batch"), ("CD3",))
    assert open_samples(tmp_path / "a.zarr").views.as_mapping() == {"CD3": ["CD3"]}
    with pytest.raises(ParameterError, match="panel"):
        import_files(tmp_path / "a.csv", tmp_path / "b.zarr", panel=panel, codes=True)


def test_roles__of_other_data_are_ignored() -> None:
    data = xr.DataArray(
        np.ones((4, 2)), {"feature": ["a", "b"], "role": ("feature", ["input", "use"])},
        ("sample", "feature"),
    )  # fmt: skip
    assert open_samples(data).roles is None


ZOO_WITH_PANEL = {
    "Beckman Coulter - Cyan.fcs": "header",
    "CFP_Well_A4.fcs": None,
    "PBMC8_30min_patient1_BCR-XL.fcs": None,
    "SG_2014-09-26_Duplicate_Names.fcs": None,
    "Sample_Well_A02.fcs": None,
    "coulter.lmd": None,
    "test_comp_example.fcs": None,
}


@pytest.mark.parametrize(("name", "offsets"), ZOO_WITH_PANEL.items())
def test_panel_of_files__changes_no_import(
    shared_data: Path, tmp_path: Path, name: str, offsets: str | None
) -> None:
    path = shared_data / "fcs_zoo" / name
    options = {"offsets": offsets}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        panel_of_files(path, **options).to_csv(tmp_path / "panel.csv")  # type: ignore[arg-type]
        panel = Panel.from_csv(tmp_path / "panel.csv")
        for store, chosen in (("a.zarr", None), ("b.zarr", panel)):
            import_files(path, tmp_path / store, panel=chosen, **options)  # type: ignore[arg-type]
    by_rule, by_panel = (xr.open_zarr(tmp_path / store).load() for store in ("a.zarr", "b.zarr"))
    assert by_rule.attrs["transform"] == by_panel.attrs["transform"]
    for variable in ("X", "feature", "channel", "role"):
        np.testing.assert_array_equal(by_rule[variable], by_panel[variable])


def test_panel_of_files__names_channels_without_a_marker(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", columns(1), {"$P2S": "CD3"}, names=NAMES)
    assert describe_panel([path]).unnamed == ("PE-A",)
    assert describe_panel([write_fcs("b.fcs", columns(1), names=NAMES)]).unnamed == ()
