import click
import pytest

from bigtensor.cli.commands.simulate import simulate
from bigtensor.cli.options import ADDRESS, DATA, PATH, count, read_views, runtime, size
from bigtensor.cli.simulators import SIMULATORS
from bigtensor.errors import ViewError


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("1e6", 1_000_000), ("1_000", 1000), ("2.5e3", 2500)]
)
def test_count__reads_whole_numbers(text, number):
    assert count()(text) == number


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many", "nan", "inf", ""])
def test_count__refuses_everything_else(text):
    with pytest.raises(click.BadParameter, match="whole number of at least 1"):
        count()(text)


def test_size__is_bytes():
    assert size("1GiB") == 2**30
    assert size("500MB") == 500_000_000
    with pytest.raises(click.BadParameter, match="not a size such as 1GiB"):
        size("plenty")


def test_read_views__returns_the_table_in_order(tmp_path):
    path = tmp_path / "views.toml"
    path.write_text('title = "x"\n[views]\nt = ["CD3", "CD4"]\nb = ["CD19"]\n')
    assert list(read_views(path).items()) == [("t", ["CD3", "CD4"]), ("b", ["CD19"])]
    assert read_views(None) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('t = ["CD3"]', r"has no table \[views\]"),
        ("views = 3", r"has no table \[views\]"),
        ("[views]", r"is empty"),
        ('[views]\nt = "CD3"', "view 't'.*expected a list"),
        ("[views]\nt = [1, 2]", "view 't'.*expected a list"),
        ("[views\n", "is not TOML"),
        ('[views]\nt = ["a"]\nt = ["b"]', "is not TOML"),
        ("[views]\nt = " + "[" * 100_000, "is not TOML"),
        ("[views]\nt = " + "9" * 5_000, "is not TOML"),
        ("[views]\nt = [2020-13-45]", "is not TOML"),
        ("[views]\nt = [[]]", "view 't'.*expected a list"),
    ],
)
def test_read_views__says_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "views.toml"
    path.write_text(text)
    with pytest.raises(ViewError, match=message):
        read_views(path)


def test_read_views__takes_utf_8_only(tmp_path):
    path = tmp_path / "views.toml"
    path.write_bytes('[views]\nt = ["é"]'.encode("latin-1"))
    with pytest.raises(ViewError, match="is not TOML"):
        read_views(path)


def test_path__of_files_to_import_is_no_url(run):
    result = run("import", "s3://b/cells.csv", "--out", "cells.zarr")
    assert result.exit_code == 2
    assert "is a URL; a path on a local" in result.stderr


def test_read_views__names_a_missing_file(tmp_path):
    with pytest.raises(ViewError, match=r"none\.toml cannot be read"):
        read_views(tmp_path / "none.toml")


def test_runtime__workers_and_an_address_exclude_each_other():
    with pytest.raises(click.UsageError, match="give one of them"):
        runtime(2, "tcp://host:8786", None)
    assert runtime(2, "threads", None)["scheduler"] == "threads"
    assert runtime()["scheduler"] == "threads"
    assert runtime(2)["scheduler"] == "processes"
    assert runtime(None, None, 5) == {
        "scheduler": "processes",
        "workers": None,
        "memory_limit": 5,
        "wait_for_workers": None,
    }


def test_runtime__scheduler_file_certificates_and_wait_are_options_of_every_command(run):
    for command in ("plan", "fit", "predict", "prepare", "accumulate"):
        words = run(command, "--help").stdout
        for option in ("--scheduler-file", "--tls-ca-file", "--tls-cert", "--tls-key"):
            assert f"{option} FILE" in words
        assert "--wait-for-workers TIME" in words


def test_wait_for_workers__is_a_time(run):
    result = run("fit", "c.zarr", "-k", 2, "--out", "m.zarr", "--wait-for-workers", "soon")
    assert result.exit_code == 2
    assert "'soon' is not a time" in result.stderr


@pytest.mark.parametrize("kind", SIMULATORS)
def test_simulate__own_options_stand_before_those_of_every_command(kind):
    names = [parameter.name for parameter in simulate.commands[kind].params]
    own = [choice.name for choice in SIMULATORS[kind].choices]
    number = [] if SIMULATORS[kind].names_components else ["components"]
    general = ["seed", "overwrite", "json", "quiet", "debug"]
    assert names == ["out", "rows", *number, *own, *general]


@pytest.mark.parametrize("kind", [ADDRESS, DATA, PATH])
def test_paths__do_not_take_a_dash_for_a_file(kind):
    with pytest.raises(click.BadParameter, match="not standard input or output"):
        kind.convert("-", None, None)
    assert str(kind.convert("./-", None, None)) in ("-", "./-")


def test_paths__begin_with_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in (ADDRESS, PATH, DATA):
        assert str(kind.convert("~/a.zarr", None, None)) == str(tmp_path / "a.zarr")
        assert str(kind.convert("a~/~b", None, None)) == "a~/~b"
    assert DATA.convert("s3://bucket/a.zarr", None, None) == "s3://bucket/a.zarr"
