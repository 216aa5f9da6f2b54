"""Choice of the cofactor, and markers that arcsinh leaves nearly linear."""

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bigtensor.data.importers.channels.channel_content import Content
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.scales import choose_transform, linear_markers
from bigtensor.data.importers.transforms import Arcsinh, Logicle
from bigtensor.errors import TransformWarning

FcsWriter = Callable[..., Path]


def content(*uppers: float) -> list[Content]:
    """Content of markers with these 99 % quantiles."""
    return [Content(constant=False, rising=False, upper=upper) for upper in uppers]


@pytest.mark.parametrize(
    ("uppers", "cofactor"),
    [
        ((1e4, 3e3, 100.0), 150.0),
        ((300.0, 100.0, 400.0), 150.0),
        ((77.0,), 15.0),
        ((6.5, 47.0, 1006.0), 5.0),
        # perhaps on a logarithmic scale already
        ((7.0, 8.0), 150.0),
        ((), 150.0),
    ],
)
def test_cofactor__follows_the_range(uppers: tuple[float, ...], cofactor: float) -> None:
    assert choose_transform("arcsinh", None, [], content(*uppers)) == Arcsinh(cofactor)
    assert choose_transform("arcsinh", 20.0, [], content(*uppers)) == Arcsinh(20.0)


def test_linear_markers__have_99_percent_below_one() -> None:
    markers = dict(zip("abc", content(175.0, 177.0, 0.0), strict=True))
    markers["d"] = Content(constant=True, rising=False, upper=0.0)
    note = linear_markers(Arcsinh(150.0), markers)
    assert "values of a, c are below 1" in note
    assert "cofactor" in note
    assert not linear_markers(Logicle(), markers)
    assert not linear_markers(Arcsinh(5.0), {"b": markers["b"]})


def test_import__warns_of_markers_that_stay_linear(tmp_path: Path, write_fcs: FcsWriter) -> None:
    rng = np.random.default_rng(0)
    data = [rng.normal(0, scale, 500).astype("<f4") for scale in (500, 50, 900)]
    path = write_fcs("a.fcs", data, names=["A", "B", "C"])
    with pytest.warns(TransformWarning, match="values of B are below 1"):
        summary = import_files(path, tmp_path / "a.zarr")
    assert "transform='none'" in summary.warnings[0]
    assert summary.transform["cofactor"] == 150
    import_files(path, tmp_path / "b.zarr", cofactor=5)


@pytest.mark.parametrize("compensate", [False, True])
@pytest.mark.parametrize(
    ("name", "cofactor"),
    [
        ("activation/Activation_1.fcs", 150),
        ("activation/Activation_12.fcs", 150),
        ("mouse_spleen/68983.fcs", 150),
        ("fcs_zoo/test_comp_example.fcs", 150),
        ("fcs_zoo/CFP_Well_A4.fcs", 150),
        ("fcs_zoo/PBMC8_30min_patient1_BCR-XL.fcs", 5),
        ("fcs_zoo/SG_2014-09-26_Duplicate_Names.fcs", 15),
    ],
)
def test_real_files__have_the_usual_cofactor_unless_values_are_small(
    shared_data: Path, tmp_path: Path, name: str, cofactor: float, compensate: bool
) -> None:
    if compensate and "zoo" in name and "comp" not in name:
        pytest.skip("has no spillover matrix")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = import_files(shared_data / name, tmp_path / "a.zarr", compensate=compensate)
    assert summary.transform["cofactor"] == cofactor
    is_linear = any("below 1" in note for note in summary.warnings)
    assert is_linear == ("CFP" in name or "spleen" in name)
