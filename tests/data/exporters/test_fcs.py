"""FCS files of every type, copied with labels, and read again by flowio and by the importer."""

import os
from pathlib import Path

import flowio
import numpy as np
import pytest
import zarr

from bigtensor.data.exporters.fcs import write_answers_to_fcs
from bigtensor.data.exporters.sample_rows import rows_of_samples
from bigtensor.data.importers.fcs.events import FcsHeader, iterate_fcs, read_fcs_header
from bigtensor.data.importers.files import import_files
from bigtensor.errors import (
    DataError,
    FileFormatError,
    FileFormatWarning,
    OtherRowsWarning,
    OutputError,
    StoreReadError,
)
from tests.data.exporters.conftest import write_labels
from tests.data.importers.conftest import _write_fcs

RNG = np.random.default_rng(5)
ROWS = 400
KEYWORDS = {"$CYT": "A//B", "operator": "me", "$SPILLOVER": "2,a,b,1,0.1,0.2,1", "$DATE": "1"}
NEW = ["bigtensor_label", "bigtensor_proba_0", "bigtensor_proba_1", "bigtensor_proba_2"]
TYPES = {
    "floats": [RNG.normal(size=ROWS).astype("f4"), RNG.exponential(size=ROWS).astype("f4")],
    "doubles": [RNG.normal(size=ROWS), RNG.exponential(size=ROWS)],
    "integers": [
        RNG.integers(0, 1024, ROWS).astype("u2"),
        RNG.integers(0, 2**32, ROWS, dtype="u4"),
        RNG.integers(0, 256, ROWS).astype("u1"),
    ],
}
VERSIONS = ["2.0", "3.0", "3.1"]


def imported(paths: list[Path], out: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Import files and label every row."""
    rows = import_files(paths, out, transform="none").rows
    labels = write_labels(out.with_name("labels.zarr"), rows=rows)
    group = zarr.open_group(labels, mode="r")
    return labels, group["label"][:], group["probability"][:]


def whole(path: Path) -> np.ndarray:
    """Return all events on the linear scale."""
    return np.concatenate(list(iterate_fcs(path)))


def stored_bytes(path: Path, channels: int) -> np.ndarray:
    """Return the bytes of the first channels of every event as they are stored."""
    header = read_fcs_header(path)
    widths = [int(dtype[2:]) for dtype in header.dtypes]
    raw = np.fromfile(path, np.uint8, header.n_rows * sum(widths), offset=header.data_start)
    return raw.reshape(header.n_rows, -1)[:, : sum(widths[:channels])]


@pytest.mark.filterwarnings("ignore:.*which float32 rounds:bigtensor.errors.FileFormatWarning")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("byte_order", ["1,2,3,4", "4,3,2,1"])
@pytest.mark.quick_cases(
    "1,2,3,4-2.0-floats", "1,2,3,4-3.1-integers", "4,3,2,1-3.0-doubles", "4,3,2,1-3.1-floats"
)
def test_fcs__events_and_keywords_are_kept_and_labels_added(tmp_path, kind, version, byte_order):
    columns = TYPES[kind]
    if byte_order == "4,3,2,1":
        columns = [column.astype(column.dtype.newbyteorder(">")) for column in columns]
    log = {"$P1E": "4,1", "$P1R": 1024} if kind == "integers" else {"$P2G": 2}
    source = _write_fcs(
        tmp_path / "a.fcs",
        columns,
        {**KEYWORDS, "$BYTEORD": byte_order, "$DATATYPE": kind[0].upper(), **log},
        names=["FSC-A", "CD3", "Time"][: len(columns)],
        version=version,
    )
    labels, label, probability = imported([source], tmp_path / "cells.zarr")
    (copy,) = write_answers_to_fcs(
        labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
    )
    assert copy == tmp_path / "out" / "a.fcs"
    n = len(columns)
    np.testing.assert_array_equal(stored_bytes(copy, n), stored_bytes(source, n))
    before, after = read_fcs_header(source), read_fcs_header(copy)
    assert (after.version, after.n_rows) == (version, ROWS)
    assert after.channels == (*before.channels, *NEW)
    placed = {"par", "begindata", "enddata", "beginstext", "endstext", "nextdata"}
    for key, value in before.keywords.items():
        assert key in placed or after.keywords[key] == value
    events = whole(copy)
    np.testing.assert_array_equal(events[:, :n], whole(source))
    shift, said = (1, "population + 1; 0 for") if kind == "integers" else (0, "population; -1 for")
    np.testing.assert_array_equal(events[:, n], label + shift)
    assert said in after.keywords["bigtensor_label"]
    expected = np.nan_to_num(probability, nan=0.0)
    tolerance = 0.5 / 65_535 + 1e-12 if kind == "integers" else 0.0
    np.testing.assert_allclose(events[:, n + 1 :], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["floats", "doubles", "integers"])
def test_fcs__flowio_reads_the_same(tmp_path, kind):
    columns = [column.astype("u2") if kind == "integers" else column for column in TYPES[kind][:2]]
    source = _write_fcs(tmp_path / "a.fcs", columns, KEYWORDS)
    labels, label, probability = imported([source], tmp_path / "cells.zarr")
    (copy,) = write_answers_to_fcs(
        labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
    )
    read, original = flowio.FlowData(copy), flowio.FlowData(source)
    assert read.pnn_labels == ["C1", "C2", *NEW]
    events = read.as_array()
    np.testing.assert_array_equal(events[:, :2], original.as_array())
    np.testing.assert_array_equal(events[:, 2], label + (kind == "integers"))
    np.testing.assert_allclose(events[:, 3:], np.nan_to_num(probability), rtol=0, atol=1e-5)
    changed = {key for key in read.text if read.text[key] != original.text.get(key)}
    assert {key for key in changed if key in original.text} <= {"par", "begindata", "enddata"}
    assert (read.text["cyt"], read.text["operator"]) == ("A/B", original.text["operator"])


def test_fcs__names_of_populations_are_keywords(tmp_path):
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"], KEYWORDS)
    labels, _, _ = imported([source], tmp_path / "cells.zarr")
    names = ["CD4+ /T/", "1", "\N{GREEK SMALL LETTER GAMMA} T"]
    zarr.open_group(labels)["label"].attrs["categories"] = names
    (copy,) = write_answers_to_fcs(
        labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
    )
    read = flowio.FlowData(copy)
    assert read.pnn_labels == ["C1", "C2", *NEW]
    assert read.text["bigtensor_population_0"] == read.text["p4s"]
    assert read.text["p4s"].replace("//", "/") == "CD4+ /T/"
    assert "bigtensor_population_1" not in read.text
    assert read.text["bigtensor_population_2"].endswith(" T")
    np.testing.assert_array_equal(whole(copy)[:, :2], whole(source))


def test_fcs__every_file_gets_its_own_rows(tmp_path):
    paths = [
        _write_fcs(tmp_path / f"{name}.fcs", [np.arange(rows, dtype="f4"), np.ones(rows, "f4")])
        for name, rows in (("b", 300), ("a", 120), ("c", 77))
    ]
    labels, label, _ = imported(paths, tmp_path / "cells.zarr")
    told = []
    copies = write_answers_to_fcs(
        labels,
        [paths[2], paths[0]],
        tmp_path / "out",
        cells=tmp_path / "cells.zarr",
        probabilities=False,
        progress=lambda *rows: told.append(rows),
    )
    assert [copy.name for copy in copies] == ["c.fcs", "b.fcs"]
    np.testing.assert_array_equal(whole(copies[0])[:, 2], label[420:])
    np.testing.assert_array_equal(whole(copies[1])[:, 2], label[:300])
    assert told == [(77, 377), (377, 377)]
    assert sorted(os.listdir(tmp_path / "out")) == ["b.fcs", "c.fcs"]  # noqa: PTH208


def test_fcs__a_labelled_copy_is_imported_like_any_file(tmp_path):
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"])
    labels, label, _ = imported([source], tmp_path / "cells.zarr")
    (copy,) = write_answers_to_fcs(
        labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
    )
    summary = import_files(copy, tmp_path / "again.zarr", transform="none")
    assert summary.features == ("C1", "C2", *NEW)
    again = zarr.open_group(tmp_path / "again.zarr", mode="r")["X"][:]
    np.testing.assert_array_equal(again[:, 2], label)
    with pytest.raises(FileFormatError, match="has a channel bigtensor_label already"):
        write_answers_to_fcs(labels, [copy], tmp_path / "o2", cells=tmp_path / "cells.zarr")


PLACES = {
    "$PAR",
    "$NEXTDATA",
    *(f"${end}{name}" for end in ("BEGIN", "END") for name in ("DATA", "STEXT", "ANALYSIS")),
}
INSTRUMENTS: dict[str, dict[str, str]] = {
    **{f"activation/Activation_{number}.fcs": {} for number in range(1, 13)},
    "fcs_zoo/Beckman Coulter - Cyan.fcs": {"offsets": "header"},
    "fcs_zoo/CFP_Well_A4.fcs": {},
    "fcs_zoo/PBMC8_30min_patient1_BCR-XL.fcs": {},
    "fcs_zoo/Partec - CyFlow v2.9.fcs": {},
    "fcs_zoo/SG_2014-09-26_Duplicate_Names.fcs": {},
    "fcs_zoo/Sample_Well_A02.fcs": {},
    "fcs_zoo/coulter.lmd": {},
    "fcs_zoo/cyflow_cube_8.fcs": {},
    "fcs_zoo/data_start_offset_discrepancy_example.fcs": {"offsets": "text"},
    "fcs_zoo/test_comp_example.fcs": {},
}


def kept(header: FcsHeader) -> list[tuple[str, str]]:
    """Return the keywords that a copy has to keep, as they are spelled and in their order."""
    return [(key.strip(), value) for key, value in header.spelled if key.strip() not in PLACES]


@pytest.mark.filterwarnings("ignore::bigtensor.errors.FileFormatWarning")
@pytest.mark.parametrize("name", INSTRUMENTS)
@pytest.mark.quick_cases(
    "activation/Activation_1.fcs",
    "fcs_zoo/Beckman Coulter - Cyan.fcs",
    "fcs_zoo/CFP_Well_A4.fcs",
    "fcs_zoo/PBMC8_30min_patient1_BCR-XL.fcs",
    "fcs_zoo/Partec - CyFlow v2.9.fcs",
    "fcs_zoo/SG_2014-09-26_Duplicate_Names.fcs",
    "fcs_zoo/Sample_Well_A02.fcs",
    "fcs_zoo/coulter.lmd",
    "fcs_zoo/cyflow_cube_8.fcs",
    "fcs_zoo/data_start_offset_discrepancy_example.fcs",
    "fcs_zoo/test_comp_example.fcs",
)
def test_fcs__files_of_instruments_keep_events_and_keywords(shared_data, tmp_path, name):
    source, options = shared_data / name, INSTRUMENTS[name]
    rows = import_files(source, tmp_path / "cells.zarr", transform="none", **options).rows
    labels = write_labels(tmp_path / "labels.zarr", rows=rows)
    label = zarr.open_group(labels, mode="r")["label"][:]
    (copy,) = write_answers_to_fcs(
        labels,
        [source],
        tmp_path / "out",
        cells=tmp_path / "cells.zarr",
        probabilities=False,
        **options,
    )
    before, after = read_fcs_header(source, **options), read_fcs_header(copy)
    events = whole(copy)
    original = np.concatenate(list(iterate_fcs(before)))
    np.testing.assert_array_equal(events[:, :-1], original)
    np.testing.assert_array_equal(events[:, -1], label + (before.dtypes[0][1] == "u"))
    n = len(before.spelled)
    assert n > 60
    assert kept(after)[: len(kept(before))] == kept(before)
    added = [key for key, _ in kept(after)[len(kept(before)) :]]
    number = len(before.channels) + 1
    new = {"BIGTENSOR_LABEL", *(f"$P{number}{letter}" for letter in "NBER")}
    assert set(added) == new
    assert after.encoding == before.encoding
    assert after.markers[:-1] == before.markers
    if "discrepancy" not in name:  # its $TIMESTEP is no number, which ends flowio
        np.testing.assert_allclose(flowio.FlowData(copy).as_array(), events, rtol=1e-13)


def test_fcs__keywords_that_are_hard_to_separate_are_kept(tmp_path):
    keywords = {
        "$OP": "",
        "note": "",
        " ": "z",
        "x": "y//",
        "$FIL": "//home//me",
        "$COM": "//",
        "µ": "é",
    }
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"], keywords)
    with pytest.warns(FileFormatWarning, match="doubled delimiter after 'note' is"):
        labels, _, _ = imported([source], tmp_path / "cells.zarr")
    with pytest.warns(FileFormatWarning, match="doubled delimiter after 'note' is"):
        (copy,) = write_answers_to_fcs(
            labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
        )
    with pytest.warns(FileFormatWarning, match="doubled delimiter after 'note' is"):
        before, after = read_fcs_header(source), read_fcs_header(copy)
    assert before.spelled[-7:] == (
        ("$OP", ""),
        ("note", ""),
        (" ", "z"),
        ("x", "y/"),
        ("$FIL", "/home/me"),
        ("$COM", "/"),
        ("µ", "é"),
    )
    assert set(before.spelled) - set(after.spelled) <= {
        pair for pair in before.spelled if pair[0] in PLACES
    }
    assert [key for key, _ in after.spelled][: len(before.spelled)] == [
        k for k, _ in before.spelled
    ]


def test_fcs__bytes_alone_get_a_byte_order(tmp_path):
    columns = [np.array([1, 2, 255], "u1")] * 2
    source = _write_fcs(tmp_path / "a.fcs", columns, {"$BYTEORD": "1"})
    labels, label, _ = imported([source], tmp_path / "cells.zarr")
    (copy,) = write_answers_to_fcs(
        labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr", probabilities=False
    )
    assert read_fcs_header(copy).dtypes == ("<u1", "<u1", "<u2")
    np.testing.assert_array_equal(whole(copy)[:, 2], label + 1)


def test_fcs__keywords_of_no_channel_do_not_reach_a_new_one(tmp_path):
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"], {"$P3S": "CD8", "$P3G": "2"})
    labels, label, _ = imported([source], tmp_path / "cells.zarr")
    with pytest.warns(FileFormatWarning, match=r"\$PAR are not .*: '\$P3S', '\$P3G'"):
        (copy,) = write_answers_to_fcs(
            labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr", probabilities=False
        )
    assert read_fcs_header(copy).features[2] == "bigtensor_label"
    np.testing.assert_array_equal(whole(copy)[:, 2], label)


def test_fcs__segments_that_are_not_copied_are_told(shared_data, tmp_path):
    source = shared_data / "fcs_zoo" / "cyflow_cube_8.fcs"
    labels, label, _ = imported([source], tmp_path / "cells.zarr")
    with pytest.warns(FileFormatWarning, match="not copied: supplemental TEXT$"):
        (copy,) = write_answers_to_fcs(
            labels, [source], tmp_path / "out", cells=tmp_path / "cells.zarr"
        )
    np.testing.assert_array_equal(whole(copy)[:, -4], label + 1)


def test_fcs__nothing_is_left_when_it_stops_midway(tmp_path):
    paths = [_write_fcs(tmp_path / f"{name}.fcs", TYPES["floats"]) for name in "ab"]
    labels, _, _ = imported(paths, tmp_path / "cells.zarr")

    def stop(done, total):
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers_to_fcs(
            labels, paths, tmp_path / "out", cells=tmp_path / "cells.zarr", progress=stop
        )
    assert list((tmp_path / "out").iterdir()) == []


def test_fcs__bad_targets_are_refused(tmp_path):
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"])
    content = source.read_bytes()
    cells = tmp_path / "cells.zarr"
    labels, _, _ = imported([source], cells)
    with pytest.raises(OutputError, match="is read and would be replaced"):
        write_answers_to_fcs(labels, [source], tmp_path, cells=cells, overwrite=True)
    assert source.read_bytes() == content
    with pytest.raises(OutputError, match="none can be made there"):
        write_answers_to_fcs(labels, [source], tmp_path / "no" / "out", cells=cells)
    write_answers_to_fcs(labels, [source], tmp_path / "out", cells=cells)
    with pytest.raises(OutputError, match=r"a\.fcs exists already"):
        write_answers_to_fcs(labels, [source], tmp_path / "out", cells=cells)
    write_answers_to_fcs(labels, [source], tmp_path / "out", cells=cells, overwrite=True)


def test_fcs__files_that_were_not_imported_are_refused(tmp_path):
    source = _write_fcs(tmp_path / "a.fcs", TYPES["floats"])
    cells = tmp_path / "cells.zarr"
    labels, _, _ = imported([source], cells)
    other = _write_fcs(tmp_path / "b.fcs", TYPES["floats"])
    with pytest.raises(DataError, match=r"b\.fcs is not .* holds \['a'\]"):
        write_answers_to_fcs(labels, [other], tmp_path / "out", cells=cells)
    _write_fcs(source, [column[:-1] for column in TYPES["floats"]])
    with pytest.raises(DataError, match="399 events, but 400 rows"):
        write_answers_to_fcs(labels, [source], tmp_path / "out", cells=cells)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "options"),
    [(["FSC-A", "Time"], {}), (["PE-A", "APC-A"], {"compensate": True, "cofactor": 5.0})],
    ids=["linear", "compensated"],
)
def test_fcs__events_of_another_file_of_that_name_are_warned_of(
    tmp_path: Path, names: list[str], options: dict
) -> None:
    spillover = {"$SPILLOVER": f"2,{','.join(names)},1,0.1,0.2,1", "$TIMESTEP": "0.01"}
    columns = [100 * column for column in TYPES["floats"]]
    paths = [tmp_path / place / "tube.fcs" for place in ("ours", "theirs", "turned")]
    for path in paths:
        path.parent.mkdir()
    ours, theirs, turned = (
        _write_fcs(path, values, spillover, names=spelled)
        for path, values, spelled in (
            (paths[0], columns, names),
            (paths[1], [column[::-1] for column in columns], names),
            (paths[2], columns[::-1], names[::-1]),
        )
    )
    cells = tmp_path / "cells.zarr"
    import_files([ours], cells, **options)
    labels = write_labels(tmp_path / "labels.zarr", rows=ROWS)
    for source in (ours, turned):
        write_answers_to_fcs(labels, [source], tmp_path / "out", cells=cells, overwrite=True)
    with pytest.warns(OtherRowsWarning, match="theirs"):
        write_answers_to_fcs(labels, [theirs], tmp_path / "other", cells=cells)


def test_rows_of_samples__need_samples_whose_rows_follow_each_other(tmp_path):
    with pytest.raises(StoreReadError, match="check the path"):
        rows_of_samples(tmp_path / "none.zarr", 5)
    group = zarr.create_group(tmp_path / "cells.zarr")
    with pytest.raises(DataError, match="has no sample_id"):
        rows_of_samples(tmp_path / "cells.zarr", 5)
    codes = group.create_array("sample_id", data=np.array([1, 1, -1, 0, 0], np.int32))
    codes.attrs["categories"] = ["a", "b"]
    assert rows_of_samples(tmp_path / "cells.zarr", 5) == {"b": (0, 2), "a": (3, 2)}
    with pytest.raises(DataError, match="has 5 rows, but there are 6 labels"):
        rows_of_samples(tmp_path / "cells.zarr", 6)
    codes[:] = [0, 1, 0, 1, 1]
    with pytest.raises(DataError, match=r"sample 'a' .* do not follow"):
        rows_of_samples(tmp_path / "cells.zarr", 5)


def test_second_data_set__is_the_one_that_is_copied(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "fcs_zoo" / "coulter.lmd"
    events = np.concatenate(list(iterate_fcs(read_fcs_header(source, dataset=1))))
    cells, copies = tmp_path / "cells.zarr", tmp_path / "copies"
    rows = import_files([source], cells, dataset=1, transform="none").rows
    labels = write_labels(tmp_path / "labels.zarr", rows=rows)
    (copy,) = write_answers_to_fcs(labels, [source], copies, cells=cells)
    np.testing.assert_array_equal(whole(copy)[:, : events.shape[1]], events)
