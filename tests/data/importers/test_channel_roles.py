"""Roles of channels by rule, against a table of markers written by hand."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bigtensor.data.importers.channels.channel_names import role_by_name
from bigtensor.data.importers.channels.channel_roles import channel_roles
from bigtensor.data.importers.fcs.file_panel import describe_panel, panel_of_files
from bigtensor.data.importers.files import import_files
from bigtensor.data.opening import open_samples

FcsWriter = Callable[..., Path]

ZOO = {
    "Beckman Coulter - Cyan.fcs": ("header", "FITC|PE|Violet 1|APC"),
    "CFP_Well_A4.fcs": (None, "V2-A|Y2-A|B1-A"),
    "PBMC8_30min_patient1_BCR-XL.fcs": (
        None,
        "CD3|CD45|pNFkB|pp38|CD4|CD20|CD33|pStat5|CD123|pAkt|pStat1|pSHP2|pZap70|pStat3|CD14|pSlp76"
        "|pBtk|pPlcg2|pErk|pLat|IgM|pS6|HLA-DR|CD7",
    ),
    "Partec - CyFlow v2.9.fcs": (None, "FL_Green"),
    "SG_2014-09-26_Duplicate_Names.fcs": (None, "GFP/FITC-A"),
    "Sample_Well_A02.fcs": (None, "FL1-Height|FL2-Height|FL3-Height"),
    "coulter.lmd": (None, "FL1 Log|FL2 Log|FL3 Log"),
    "cyflow_cube_8.fcs": (None, "FL1|FL2|FL3|FL4|FL5|FL6"),
    "data_start_offset_discrepancy_example.fcs": (
        "text",
        "xxxxxxxxxxx|405nm BV710 (710/40) LogH|xxxxxxxxxxxxxx (710/40) LogH"
        "|488/552nm PE Cy7 (740LP) LogH|405nm Qdot800 (740LP) LogH|642nm APC Cy7 (740LP) LogH"
        "|488/552nm PECy5 (676/29) LogH|xxxxxxx|488/552nm PI (615/30) LogH"
        "|405nm Qdot605 (615/30) LogH|488/552nm FITC (530/30) LogH|xxxxxxxxxxxxxxxxxxxxxxxxx"
        "|488/552nm PE (580/30) LogH|xxxxxxxxxxxxxx|405nm BV421 (445/60) LogH",
    ),
    "test_comp_example.fcs": (
        None,
        "pStat3|CD33|PE-TR-A|CD20|CD3|pp38|Ax700-A|Ax750-A|CD4|Qdot525-A|PacOrange-A|Qdot605-A"
        "|Qdot655-A|Qdot705-A",
    ),
}
"""Markers of every readable file, by hand: which segment to believe, and the features to use."""


@pytest.mark.parametrize("name", ZOO)
def test_zoo__features_used_by_default_are_the_markers(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    offsets, markers = ZOO[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_files(shared_data / "fcs_zoo" / name, tmp_path / "a.zarr", offsets=offsets)  # type: ignore[arg-type]
    samples = open_samples(tmp_path / "a.zarr")
    assert samples.views.feature_names == tuple(markers.split("|"))


def test_zoo__every_other_file_cannot_be_read(shared_data: Path) -> None:
    others = {path.name for path in (shared_data / "fcs_zoo").iterdir()} - {*ZOO}
    assert others == {
        "Beckman Coulter - Cytomics FC500.LMD",
        "Cytek xP5.fcs",
        "corrupted.fcs",
        "sample_header.fcs",
    }


def test_activation__panel_names_the_markers(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "activation"
    file = folder / "Activation_7.fcs"
    summary = import_files(file, tmp_path / "a.zarr", panel=folder / "panel.csv", compensate=True)
    assert summary.used == ("CD8", "Va2", "CD69", "CD44", "CD4", "CD11c")
    assert set(summary.left_out) == {"scatter", "time", "empty", "viability"}
    # 7-AAD is the name of a detector here
    assert len(describe_panel([file]).panel.channels) == 18
    assert panel_of_files(file).roles.count("use") == 11


@pytest.mark.parametrize(
    ("channel", "marker", "role"),
    [
        *((name, "", "scatter") for name in ("FSC-A", "ssc-w", "FS Lin", "SS", "VSSC-A", "FSC1-A")),
        *((name, "", "scatter") for name in ("405nm 405SSC (405/10) LogH", "Violet SSC-A")),
        *((name, "", "time") for name in ("Time", "TIME", "Time MSW", "HDR-T", "Computed Time")),
        ("TIME", "Time LSW", "time"),
        ("Time", "Time (10.24 sec.)", "time"),
        *((name, "", "ignore") for name in ("Event Count", "Event #", "Pulse Width", "Width")),
        *((name, "", "ignore") for name in ("Event_length", "Cell_length", "DOUBLET", "Residual")),
        *((name, "", "ignore") for name in ("DNA-1(Ir191)Dd", "AF-A", "bigtensor_label")),
        ("Ir191Di", "191Ir_DNA1", "ignore"),
        ("Ce140Di", "140Ce_EQ4_Beads", "ignore"),
        ("BC1(La139)Dd", "BC1", "barcode"),
        ("Pd102Di", "102Pd_Barcode", "barcode"),
        ("AmCyan-A", "l/d", "viability"),
        ("APC-Cy7-A", "Live/Dead", "viability"),
        ("7-AAD-A", "7-AAD", "viability"),
        ("BV510-A", "Zombie Aqua", "viability"),
        ("Pt195Di", "Cisplatin", "viability"),
        # detectors named after dyes of dead cells, and markers that look like something else
        *((name, "", "use") for name in ("7-AAD-A", "488/552nm PI (615/30) LogH", "DAPI-A")),
        *(("PE-A", marker, "use") for marker in ("DNAM-1", "SSEA-4", "Foxp3", "BCL2", "Timeless")),
        *(("PE-A", marker, "use") for marker in ("CD45", "Lin", "CXCR5", "CD11c", "Viktor")),
    ],
)
def test_role_by_name(channel: str, marker: str, role: str) -> None:
    assert role_by_name(channel, marker).role == role


@pytest.mark.parametrize(
    ("channel", "marker", "role"),
    [
        ("Ir191Di", "191Ir", "ignore"),
        ("Pd105Di", "", "barcode"),
        ("Ce140Di", "140Ce", "ignore"),
        ("Rh103Di", "Rh103Di", "viability"),
        ("Xe131Di", "131Xe", "empty"),
        ("BCKG190Di", "190BCKG", "empty"),
        ("Nd142Di", "142Nd", "use"),
        ("Pd105Di", "105Pd_CD45", "use"),
        ("Pt194Di", "CD11b", "use"),
        ("Cd112Di", "CD112", "use"),
        ("Y89Di", "CD45", "use"),
    ],
)
def test_role_by_name__of_isotopes(channel: str, marker: str, role: str) -> None:
    assert role_by_name(channel, marker, is_mass_cytometry=True).role == role


@pytest.mark.parametrize(
    ("channels", "used"),
    [
        ("FITC-A FITC-H FITC-W PE-A PE-H", "FITC-A PE-A"),
        ("FL1-H FL2-H FL3-H FL2-A FL2-W", "FL1-H FL2-H FL3-H"),
        ("GRN-HLin GRN-HLog GRN-ALin GRN-ALog GRN-W", "GRN-ALog"),
        ("FITC PE-A APC-H", "FITC PE-A APC-H"),
        ("HLA-A HLA-DR", "HLA-A HLA-DR"),
        ("FL1-Area FL1-Height FL1-Width", "FL1-Area"),
        ("PE-W APC-W", "PE-W APC-W"),
    ],
)
def test_roles__of_several_measures_of_one_detector(channels: str, used: str) -> None:
    names = channels.split()
    roles = channel_roles(names, [""] * len(names), [None] * len(names))
    assert [name for name, role in zip(names, roles, strict=True) if role.role == "use"] == (
        used.split()
    )


def test_roles__by_content(write_fcs: FcsWriter) -> None:
    rng = np.random.default_rng(0)
    rows = 300
    files = list[Path]()
    for number in range(2):
        # a count that begins again in the second file, a constant, a marker of few cells
        rare = np.where(np.arange(rows) == 250, 900.0, 0.0)
        data = [np.arange(rows) // 3, np.full(rows, 7.0), rng.normal(0, 500, rows), rare]
        stored = [column.astype("<f4") for column in data]
        files.append(write_fcs(f"{number}.fcs", stored, names=list("ABCD")))
    described = describe_panel(files)
    assert described.panel.roles == ("time", "empty", "use", "use")
    assert [role.reason for role in described.roles] == ["rises only", "constant", "", ""]
    short = write_fcs("c.fcs", [np.arange(50).astype("<f4")] * 2, names=["A", "B"])
    assert panel_of_files(short).roles == ("use", "use")


def test_content__of_huge_and_missing_values(write_fcs: FcsWriter) -> None:
    huge = np.tile([1.7e308, -1.7e308, np.nan, np.inf], 100)
    path = write_fcs("a.fcs", [huge, np.full(400, np.nan)], names=["A", "B"])
    assert panel_of_files(path).roles == ("use", "use")
