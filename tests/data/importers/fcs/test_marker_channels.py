"""Markers on different channels in files of one import."""

import warnings

import numpy as np
import pytest

from bigtensor.data.importers.files import import_files
from bigtensor.errors import FileFormatWarning

CHANNELS = ["FSC-A", "FITC-A", "PE-A"]


@pytest.fixture
def write_markers(write_fcs):
    def write(name, markers, channels=CHANNELS):
        rng = np.random.default_rng(len(name))
        columns = [(1000 * rng.random(300)).astype("<f4") for _ in channels]
        keywords = {f"$P{place}S": marker for place, marker in enumerate(markers, start=2)}
        return write_fcs(name, columns, keywords, names=list(channels))

    return write


def messages(files, out, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = import_files(files, out, overwrite=True, **options)
    noted = [str(one.message) for one in caught if one.category is FileFormatWarning]
    assert all(message in summary.warnings for message in noted)
    return noted


def test_import__of_markers_on_other_channels_names_marker_files_and_channels(
    write_markers, tmp_path
):
    first = write_markers("first.fcs", ["CD3", "CD4"])
    swapped = write_markers("swapped.fcs", ["CD4", "CD3"])
    other = write_markers("other.fcs", ["CD3", "CD4"], ["FSC-A", "FITC-A", "BV421-A"])
    (message,) = messages([first, swapped], tmp_path / "a.zarr")
    for word in ("CD3", "CD4", "FITC-A", "PE-A", "first.fcs", "swapped.fcs"):
        assert word in message
    (message,) = messages([first, other], tmp_path / "a.zarr")
    for word in ("CD4: PE-A", "BV421-A in other.fcs"):
        assert word in message
    assert "CD3" not in message


def test_import__like_a_store_compares_markers_with_the_store(write_markers, tmp_path):
    first = write_markers("first.fcs", ["CD3", "CD4"])
    assert messages([first], tmp_path / "a.zarr") == []
    again = write_markers("again.fcs", ["CD3", "CD4"])
    assert messages([again], tmp_path / "b.zarr", like=tmp_path / "a.zarr") == []
    swapped = write_markers("swapped.fcs", ["CD4", "CD3"])
    (message,) = messages([swapped], tmp_path / "b.zarr", like=tmp_path / "a.zarr")
    assert "FITC-A in swapped.fcs" in message


def test_import__of_files_whose_channels_have_another_order_is_silent(write_markers, tmp_path):
    first = write_markers("first.fcs", ["CD3", "CD4"])
    turned = write_markers("turned.fcs", ["CD4", "CD3"], ["FSC-A", "PE-A", "FITC-A"])
    assert messages([first, turned], tmp_path / "a.zarr") == []
