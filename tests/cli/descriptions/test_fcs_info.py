"""``bigtensor info`` of FCS files: headers in words, and what an import does without options."""

import os
import re

import numpy as np

from tests.data.importers.conftest import _write_fcs

COLUMNS = [np.array([1, 2, 3], "<u2")] * 4
NAMES = ["FSC-A", "FL1-A", "FL2-A", "Time"]
KEYWORDS = {
    "$P2S": "CD3",
    "$P2E": "4,1",
    "$P2R": 1024,
    "$P3S": "CD19\x1b[2J",
    "$P3G": "2.5",
    "$CYT": "LSR",
    "$SPILLOVER": "2,FL1-A,FL2-A,1,0.1,0.2,1",
}


def lines_of(text):
    """Return the lines of an output without the blanks within them."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_info__describes_an_fcs_file(run, tmp_path):
    path = _write_fcs(tmp_path / "a.fcs", COLUMNS, KEYWORDS, names=NAMES)
    result = run("info", path)
    assert (result.exit_code, result.stderr) == (0, "")
    file, cytometer, events, *lines, as_imported, left_out = lines_of(result.stdout)
    assert left_out == "left out scatter: FSC-A; time: Time"
    assert file == f"file {path}: FCS 3.1, 3 events x 4 channels"
    assert cytometer == "cytometer LSR (flow cytometry)"
    assert re.fullmatch("events uint16 little-endian, .* 4,096", events)
    assert lines == [
        "channels",
        "FSC-A range 65,536 linear",
        "FL1-A CD3 range 1,024 4 decades from 1",
        "FL2-A CD19\\x1b[2J range 65,536 linear, gain 2.5",
        "Time range 65,536 linear",
        "spillover 2 channels: FL1-A, FL2-A",
    ]
    transform, linear, compensation = as_imported.split("; ")
    assert transform == "import arcsinh, cofactor 150"
    assert linear == "linear: FSC-A, Time"
    assert "(--compensate)" in compensation


def test_info__says_what_an_import_does(run, tmp_path):
    """The same words as `import` itself."""
    paths = [
        _write_fcs(tmp_path / "fluorescence.fcs", COLUMNS, names=NAMES),
        _write_fcs(tmp_path / "mass.fcs", COLUMNS, {"$CYT": "CyTOF"}, names=NAMES),
    ]
    for path in paths:
        told = [line for line in lines_of(run("info", path).stdout) if line.startswith("import")]
        done = lines_of(run("import", path, "--out", path.with_suffix(".zarr")).stdout)
        transform = next(line for line in done if line.startswith("transform"))
        words = transform.removeprefix("transform ")
        assert [line.split("; not ")[0] for line in told] == [f"import {words}"]


def test_info__reads_no_event(run, tmp_path):
    """A sparse file of a terabyte takes no longer than any other."""
    rows = 10**12 // 8
    place = (4096, 4096 + rows * 8 - 1)
    options = {"names": NAMES, "header_data": (0, 0), "text_data": place}
    path = _write_fcs(tmp_path / "a.fcs", COLUMNS, {"$TOT": rows}, **options)
    os.truncate(path, place[1] + 1)
    result = run("info", path)
    assert result.exit_code == 0
    assert "125,000,000,000 events x 4 channels" in result.stdout


def test_info__notes_and_matrices_that_cannot_be_used(run, tmp_path):
    keywords = {"$SPILL": "2,FL1-A,FL1-A,1,0,0,1", "$TIMESTEP": "none"}
    path = _write_fcs(tmp_path / "a.fcs", COLUMNS, keywords, names=NAMES)
    result = run("info", path)
    assert result.exit_code == 0
    assert "matrix names ['FL1-A'] more than once" in result.stdout
    assert "note       $TIMESTEP=none is no number" in result.stdout
    assert result.stderr == ""


def test_info__offsets_that_disagree_are_named_with_the_option(run, tmp_path):
    path = _write_fcs(tmp_path / "a.fcs", COLUMNS, names=NAMES, text_data=(4100, 4123))
    result = run("info", path)
    assert result.exit_code == 0
    assert "little-endian, HEADER and TEXT disagree" in result.stdout
    assert "4096 to 4119, TEXT says 4100 to 4123" in result.stdout
    assert "choose with --offsets header or text" in result.stdout


def test_info__several_files_are_compared(run, tmp_path):
    same = [_write_fcs(tmp_path / f"{n}.fcs", COLUMNS, names=NAMES) for n in "ab"]
    *_, empty, last = run("info", *same).stdout.splitlines()
    assert empty == ""
    assert last.startswith("together   6 events, the same 4 features")
    other = _write_fcs(tmp_path / "c.fcs", COLUMNS, names=[*NAMES[:3], "Width"])
    result = run("info", *same, other)
    assert result.exit_code == 0
    last = result.stdout.splitlines()[-1]
    assert "lacks ['Time'] and has ['Width']" in last
    assert "--channels common" in last


def test_info__one_file_that_cannot_be_read_leaves_the_others(run, tmp_path, cells):
    whole = _write_fcs(tmp_path / "a.fcs", COLUMNS, names=NAMES)
    damaged = tmp_path / "b.fcs"
    damaged.write_bytes(b"FCS3.1 and no more")
    result = run("info", damaged, cells, whole)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {damaged}: the HEADER")
    assert f"data       {cells}: " in result.stdout
    assert f"file       {whole}: FCS 3.1" in result.stdout
    assert "together" not in result.stdout


def test_info__real_files_of_one_panel(run, shared_data):
    paths = sorted((shared_data / "activation").glob("*.fcs"))
    result = run("info", *paths)
    assert result.exit_code == 0
    assert "together   600,000 events, the same 18 " in result.stdout
    assert result.stdout.count("spillover  11 channels: ") == 12
