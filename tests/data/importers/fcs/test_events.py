"""FCS files: every quirk of real instruments, and the rules of the standard on made files."""

import warnings
from collections.abc import Callable
from pathlib import Path

import flowio
import numpy as np
import pytest

from bigtensor.data.importers.fcs.compensation import read_compensation
from bigtensor.data.importers.fcs.events import iterate_fcs, open_fcs, read_fcs_header
from bigtensor.errors import DataError, FileFormatError, FileFormatWarning, ParameterError

FcsWriter = Callable[..., Path]

PLAIN_FILES = [
    ("fcs_zoo/PBMC8_30min_patient1_BCR-XL.fcs", (2838, 35)),
    ("fcs_zoo/test_comp_example.fcs", (10703, 18)),
    ("fcs_zoo/SG_2014-09-26_Duplicate_Names.fcs", (8129, 9)),
    ("fcs_zoo/CFP_Well_A4.fcs", (10000, 16)),
    ("fcs_zoo/Sample_Well_A02.fcs", (37395, 8)),
    ("fcs_zoo/cyflow_cube_8.fcs", (725, 10)),
    ("mouse_spleen/68983.fcs", (19225, 18)),
    ("activation/Activation_1.fcs", (50000, 18)),
]


def read(path: Path, rows: int = 10_000, **options: object) -> np.ndarray:
    """All events of a file, read block by block."""
    header = read_fcs_header(path, **options)  # type: ignore[arg-type]
    return np.concatenate(list(iterate_fcs(header, rows)))


def by_flowio(path: Path, **options: object) -> np.ndarray:
    """All events of a file on the linear scale, as flowio reads them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FCS file .* reported incorrect data offset")
        options = {"ignore_offset_error": True, "nextdata_offset": 0} | options
        with path.open("rb") as file:
            return flowio.FlowData(file, **options).as_array()


@pytest.mark.parametrize(("name", "shape"), PLAIN_FILES)
def test_read__agrees_with_flowio_on_real_files(
    shared_data: Path, name: str, shape: tuple[int, int]
) -> None:
    values = read(shared_data / name)
    assert values.shape == shape
    np.testing.assert_allclose(values, by_flowio(shared_data / name), rtol=1e-13)


@pytest.mark.parametrize("rows", [1, 7, 725, 1000])
def test_read__is_the_same_for_any_block_size(shared_data: Path, rows: int) -> None:
    path = shared_data / "fcs_zoo" / "cyflow_cube_8.fcs"
    blocks = list(iterate_fcs(path, rows))
    assert all(len(block) == rows for block in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate(blocks), read(path, 100))


def test_mass_cytometry__is_recognised(shared_data: Path, write_fcs: FcsWriter) -> None:
    header = read_fcs_header(shared_data / "fcs_zoo" / "PBMC8_30min_patient1_BCR-XL.fcs")
    assert header.is_mass_cytometry
    assert header.features[:3] == ("Time", "Cell_length", "CD3")
    assert header.channels[2] == "CD3(110:114)Dd"
    for name in ["activation/Activation_1.fcs", "fcs_zoo/CFP_Well_A4.fcs"]:
        assert not read_fcs_header(shared_data / name).is_mass_cytometry
    isotopes = ["Nd142Di", "(Ir191)Dd", "Time"]
    column = [np.ones(2, "f4")] * 3
    assert read_fcs_header(write_fcs("m.fcs", column, names=isotopes)).is_mass_cytometry
    mixed = ["Nd142Di", "(Ir191)Dd", "FSC-A"]
    assert not read_fcs_header(write_fcs("n.fcs", column, names=mixed)).is_mass_cytometry


@pytest.mark.parametrize(
    ("name", "header", "text"),
    [
        ("Beckman Coulter - Cyan.fcs", "2284 to 141219", "2330 to 141265"),
        ("data_start_offset_discrepancy_example.fcs", "5555 to 6188", "6081 to 6188"),
    ],
)
def test_offsets__disagreement_names_both(
    shared_data: Path, name: str, header: str, text: str
) -> None:
    with pytest.raises(FileFormatError) as error:
        read_fcs_header(shared_data / "fcs_zoo" / name)
    for part in (name, header, text, "offsets='header' or 'text'"):
        assert part in str(error.value)


@pytest.mark.parametrize("offsets", ["header", "text"])
def test_offsets__choose_for_cyan(shared_data: Path, offsets: str) -> None:
    path = shared_data / "fcs_zoo" / "Beckman Coulter - Cyan.fcs"
    choice = {"use_header_offsets": True, "ignore_offset_discrepancy": True}
    if offsets == "text":
        choice["use_header_offsets"] = False
    values = read(path, offsets=offsets)
    assert values.shape == (5789, 12)
    np.testing.assert_allclose(values, by_flowio(path, **choice), rtol=1e-13)


def test_offsets__the_row_count_refuses_the_wrong_ones(shared_data: Path) -> None:
    path = shared_data / "fcs_zoo" / "data_start_offset_discrepancy_example.fcs"
    with pytest.raises(FileFormatError, match=r"11 events of 54 bytes, .*\$TOT says 2"):
        read_fcs_header(path, offsets="header")
    with pytest.raises(FileFormatError, match="choose offsets='text'"):
        read_fcs_header(path, offsets="header")
    with pytest.warns(FileFormatWarning, match=r"\$TIMESTEP=x+ is no number"):
        assert read(path, offsets="text").shape == (2, 26)


@pytest.mark.parametrize("offsets", [None, "header", "text"])
def test_offsets__that_do_not_help_are_not_advised(write_fcs: FcsWriter, offsets: str) -> None:
    path = write_fcs("a.fcs", [np.zeros(3, "<f4")], {"$TOT": 4})
    with pytest.raises(FileFormatError, match=r"\$TOT says 4; export the file again") as error:
        read_fcs_header(path, offsets=offsets)
    assert "offsets=" not in str(error.value)


def test_datasets__coulter_lmd_has_two(shared_data: Path) -> None:
    path = shared_data / "fcs_zoo" / "coulter.lmd"
    with pytest.warns(FileFormatWarning, match="further data sets"):
        first = read(path)
    np.testing.assert_allclose(first, by_flowio(path), rtol=1e-13)
    second = read(path, dataset=1)
    np.testing.assert_allclose(second, by_flowio(path, nextdata_offset=363602), rtol=1e-13)
    assert first.shape == second.shape == (18110, 8)
    assert not np.array_equal(first, second)
    with pytest.raises(ParameterError, match="holds 2 data sets; there is no 2"):
        read_fcs_header(path, dataset=2)


def test_packed_integers__name_the_keyword(shared_data: Path) -> None:
    path = shared_data / "fcs_zoo" / "Beckman Coulter - Cytomics FC500.LMD"
    with pytest.raises(FileFormatError, match=r"\$P1B=10.*next data set with dataset$"):
        read_fcs_header(path)
    assert read(path, dataset=1).shape == (27072, 8)


def test_24_bit_integers__name_the_keyword(shared_data: Path) -> None:
    with pytest.raises(FileFormatError, match=r"8, 16 and 32 bits .*\$P1B=24"):
        read_fcs_header(shared_data / "fcs_zoo" / "Cytek xP5.fcs")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("corrupted.fcs", r"\(10 bytes\) is not an FCS file"),
        ("sample_header.fcs", "is truncated"),
    ],
)
def test_damaged_files__get_a_clear_error(shared_data: Path, name: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message) as error:
        read_fcs_header(shared_data / "fcs_zoo" / name)
    assert name in str(error.value)


def test_logarithmic_amplification__becomes_linear(shared_data: Path) -> None:
    path = shared_data / "fcs_zoo" / "Sample_Well_A02.fcs"
    header = read_fcs_header(path)
    assert header.amplification[0] == (4.0, 1.0)
    with path.open("rb") as file:
        stored = np.array(flowio.FlowData(file).events, dtype=float).reshape(-1, 8)
    np.testing.assert_allclose(read(path)[:, :5], 10 ** (4 * stored[:, :5] / 1024), rtol=1e-12)
    np.testing.assert_array_equal(read(path)[:, 5:], stored[:, 5:])


def test_keywords__may_have_blanks_before_them(shared_data: Path) -> None:
    """TEXT of this instrument pads its first line with blanks, which come before $DATATYPE."""
    path = shared_data / "fcs_zoo" / "Partec - CyFlow v2.9.fcs"
    stored = np.fromfile(path, "<u2", offset=3022, count=4 * 72989).reshape(-1, 4).astype(float)
    values = read(path)
    np.testing.assert_allclose(values[:, 0], 10 ** (3 * stored[:, 0] / 32768), rtol=1e-12)
    np.testing.assert_allclose(values[:, 1], 0.1 * 10 ** (4 * stored[:, 1] / 32768), rtol=1e-12)


def test_linear_floats__stay_as_they_are(shared_data: Path) -> None:
    path = shared_data / "fcs_zoo" / "CFP_Well_A4.fcs"
    header = read_fcs_header(path)
    assert set(header.amplification) == {(0.0, 0.0)}
    stored = np.fromfile(path, dtype="<f4", offset=1892, count=160_000).reshape(-1, 16)
    np.testing.assert_array_equal(read(path), stored)


def test_mixed_integer_widths__are_read(shared_data: Path) -> None:
    header = read_fcs_header(shared_data / "fcs_zoo" / "cyflow_cube_8.fcs")
    assert header.dtypes == ("<u2",) * 8 + ("<u4", "<u1")


def test_gain_and_bits__follow_the_standard(write_fcs: FcsWriter) -> None:
    columns = [np.array([5, 1024 + 7, 1023], "<u2")] * 3
    columns.append(np.array([2**31 + 3, 4, 5], "<u4"))
    path = write_fcs(
        "a.fcs",
        columns,
        {
            "$P1R": 1024,
            "$P1G": 4.0,
            "$P2R": 1000,
            "$P2E": "2,0",
            "$P2G": 4.0,
            "$P4G": 100,
            "$TIMESTEP": 0.5,
        },
        names=["lin", "log", "full", "Time"],
    )
    values = read(path)
    np.testing.assert_array_equal(values[:, 0], np.array([5, 7, 1023]) / 4)
    # An offset of 0 stands for 1; a gain does not apply to a logarithmic channel.
    np.testing.assert_allclose(values[:, 1], 10 ** (2 * np.array([5, 7, 1023]) / 1000), rtol=1e-14)
    np.testing.assert_array_equal(values[:, 2], [5, 1031, 1023])
    np.testing.assert_array_equal(values[:, 3], np.array([2**31 + 3, 4, 5]) * 0.5)


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
@pytest.mark.parametrize("version", ["2.0", "3.0", "3.1"])
def test_versions__and_float_types(write_fcs: FcsWriter, version: str, dtype: str) -> None:
    columns = [np.array([0.1, -2e5, np.pi], dtype), np.array([1, 2, 3], dtype)]
    path = write_fcs("a.fcs", columns, version=version)
    np.testing.assert_array_equal(read(path), np.stack(columns, axis=1).astype(float))


def test_large_files__take_the_place_from_text(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.arange(9, dtype="<f4")], header_data=(0, 0))
    np.testing.assert_array_equal(read(path)[:, 0], np.arange(9))
    with pytest.raises(FileFormatError, match="does not say where its events lie"):
        read_fcs_header(path, offsets="header")


def test_offsets__beyond_32_bits_are_read(tmp_path: Path, write_fcs: FcsWriter) -> None:
    start = 5 * 2**30
    path = write_fcs(
        "a.fcs", [np.zeros(3, "<f4")], header_data=(0, 0), text_data=(start, start + 11)
    )
    with path.open("r+b") as file:
        file.seek(start)
        np.array([7, 8, 9], "<f4").tofile(file)
    assert read(path)[:, 0].tolist() == [7, 8, 9]


def test_unknown_version__is_named(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.ones(2, "<f4")], version="3.2")
    with pytest.warns(FileFormatWarning, match=r"version 3\.2"):
        assert read(path).tolist() == [[1], [1]]
    path = write_fcs("b.fcs", [np.ones(2, "<f4")], {"$P1DATATYPE": "D"}, version="3.2")
    with pytest.raises(FileFormatError, match="differ by channel"):
        read_fcs_header(path)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"$TOT": 4}, r"3 events of 4 bytes, .*\$TOT says 4"),
        ({"$TOT": None}, r"lacks the keyword \$TOT"),
        ({"$TOT": "many"}, r"\$TOT=many is no whole number"),
        ({"$PAR": 2}, r"\$PAR says 2 channels"),
        ({"$DATATYPE": "A"}, r"\$DATATYPE=A"),
        ({"$MODE": "C"}, r"\$MODE=C, but only lists"),
        ({"$BYTEORD": "3,4,1,2"}, "mixed byte order"),
        ({"$P1R": None}, r"lacks the keyword \$P1R"),
        ({"$BEGINDATA": "x"}, r"\$BEGINDATA=x is no whole number"),
    ],
)
def test_bad_keywords__get_a_clear_error(
    write_fcs: FcsWriter, keywords: dict[str, object], message: str
) -> None:
    path = write_fcs("a.fcs", [np.ones(3, "<f4")], keywords)
    with pytest.raises(FileFormatError, match=message):
        read_fcs_header(path)


def test_truncated_data__is_found_before_reading(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.ones(3, "<f4")])
    header = read_fcs_header(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FileFormatError, match="truncated"):
        read_fcs_header(path)
    with pytest.raises(FileFormatError, match="ended at event 2 of 3"):
        list(iterate_fcs(header))


def test_random_damage__never_escapes_as_another_error(write_fcs: FcsWriter) -> None:
    rng = np.random.default_rng(20)
    whole = write_fcs("a.fcs", [np.arange(50, dtype="<u2")] * 3).read_bytes()
    outcomes = {"read": 0, "refused": 0}
    path = write_fcs("b.fcs", [np.ones(3, "<f4")])
    for _ in range(300):
        damaged = bytearray(whole)
        for place in rng.integers(0, 350, size=rng.integers(1, 4)):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FileFormatWarning)
                read(path)
            outcomes["read"] += 1
        except FileFormatError as error:
            outcomes["refused"] += str(path) in str(error)
    assert sum(outcomes.values()) == 300
    assert min(outcomes.values()) > 20, outcomes


def test_names__markers_only_where_they_are_unique(write_fcs: FcsWriter) -> None:
    columns = [np.ones(2, "<f4")] * 5
    markers = {"$P1S": "CD3", "$P2S": "SS", "$P3S": "SS", "$P4S": " "}
    path = write_fcs("a.fcs", columns, markers, names=["F1", "S1", "S2", "F4", "CD3"])
    header = read_fcs_header(path)
    assert header.features == ("CD3", "S1", "S2", "F4", "CD3_2")
    assert header.channels == ("F1", "S1", "S2", "F4", "CD3")
    assert header.markers == ("CD3", "SS", "SS", "", "")


def test_names__duplicates_are_numbered_and_reported(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.ones(2, "<f4")] * 4, names=["A", "B", "A", "A_2"])
    with pytest.warns(FileFormatWarning, match=r"channel names were .*: \['A'\]"):
        header = read_fcs_header(path)
    assert header.features == ("A", "B", "A_3", "A_2")


@pytest.mark.parametrize("key", ["$SPILLOVER", "SPILL", "$SPILL", "spillover"])
def test_compensation__undoes_the_spillover_of_named_channels(
    write_fcs: FcsWriter, key: str
) -> None:
    rng = np.random.default_rng(3)
    dyes = rng.uniform(0, 1000, size=(200, 3))
    spillover = np.array([[1, 0.2, 0], [0.1, 1, 0.05], [0, 0.3, 1]])
    measured = dyes @ spillover
    scatter = rng.uniform(size=200)
    columns = [c.astype("<f8") for c in (measured[:, 2], scatter, measured[:, 0], measured[:, 1])]
    text = "3,PE,FITC,APC," + ",".join(str(x) for x in spillover.ravel())
    path = write_fcs("a.fcs", columns, {key: text}, names=["APC", "FSC", "PE", "FITC"])
    values = np.concatenate(list(iterate_fcs(path, 64, compensate=True)))
    np.testing.assert_allclose(values[:, [2, 3, 0]], dyes, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(values[:, 1], scatter)


def test_compensation__of_real_files_is_the_inverse_matrix(shared_data: Path) -> None:
    path = shared_data / "activation" / "Activation_2.fcs"
    header = read_fcs_header(path)
    compensation = read_compensation(header)
    assert compensation.channels[:2] == ("Alexa Fluor 488-A", "PE-A")
    assert compensation.matrix.shape == (11, 11)
    compensated = next(iterate_fcs(header, 1000, compensate=True))
    raw = next(iterate_fcs(header, 1000))
    columns = [header.channels.index(name) for name in compensation.channels]
    np.testing.assert_allclose(
        compensated[:, columns] @ compensation.matrix, raw[:, columns], rtol=1e-9, atol=1e-6
    )
    rest = [j for j in range(18) if j not in columns]
    np.testing.assert_array_equal(compensated[:, rest], raw[:, rest])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2,A,B,1,0,0", "damaged"),
        ("two,A,B,1,0,0,1", "damaged"),
        ("2,A,X,1,0,0,1", r"names \['X'\]"),
        ("2,A,B,1,1,1,1", "no inverse"),
    ],
)
def test_compensation__damage_is_refused(write_fcs: FcsWriter, text: str, message: str) -> None:
    path = write_fcs("a.fcs", [np.ones(2, "<f4")] * 2, {"$SPILLOVER": text}, names=["A", "B"])
    assert read(path).shape == (2, 2)
    with pytest.raises(FileFormatError, match=message):
        list(iterate_fcs(path, compensate=True))


def test_compensation__needs_a_matrix(write_fcs: FcsWriter) -> None:
    with pytest.raises(DataError, match=r"spillover .*\(\$SPILLOVER or SPILL\)"):
        open_fcs(write_fcs("a.fcs", [np.ones(2, "<f4")]), compensate=True)


def test_parameters__are_checked(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.ones(2, "<f4")])
    with pytest.raises(ParameterError, match="'header' or 'text', not 'both'"):
        read_fcs_header(path, offsets="both")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="0 or larger"):
        read_fcs_header(path, dataset=-1)
    with pytest.raises(ParameterError, match="at least 1"):
        list(iterate_fcs(path, 0))
    with pytest.raises(FileFormatError, match="check the path"):
        read_fcs_header(path.with_name("nowhere.fcs"))


def test_open__labels_must_fit(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.arange(5, dtype="<f4")])
    blocks = list(open_fcs(path, label=[4, 3, 2, 1, 0]).blocks(2))
    assert [b.variables["label"].tolist() for b in blocks] == [[4, 3], [2, 1], [0]]
    with pytest.raises(DataError, match=r"shape \(4,\), but it has 5 events"):
        open_fcs(path, label=[4, 3, 2, 1])


def test_empty_data_set__has_no_blocks(write_fcs: FcsWriter) -> None:
    path = write_fcs("a.fcs", [np.ones(0, "<f4")])
    assert read_fcs_header(path).n_rows == 0
    assert list(iterate_fcs(path)) == []


def test_spread_blocks__are_windows_of_the_whole_file(write_fcs: FcsWriter) -> None:
    source = open_fcs(write_fcs("a.fcs", [np.arange(1000, dtype="<f4")]))
    rows = np.concatenate([block.values[:, 0] for block in source.spread_blocks(64)])
    assert len(rows) == 64
    assert (rows[0], rows[-1]) == (0, 999)
    assert np.all(np.diff(rows) > 0)
    assert np.count_nonzero(np.diff(rows) > 1) == 15
    (block,) = source.spread_blocks(1000)
    np.testing.assert_array_equal(block.values[:, 0], np.arange(1000))
