import logging
import re
import warnings

import click
import pytest
from click.testing import CliRunner

from bigtensor.cli import main
from bigtensor.cli.command import Command, Kept, when_interrupted, written_for
from bigtensor.cli.model_options import BY_COMMAND, ModelCommand
from bigtensor.errors import (
    MOST_CHARACTERS,
    BigtensorWarning,
    LayoutWarning,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    PlanError,
    Setting,
)
from bigtensor.models.contract.registry import declared_parameters


def outcome(body, *arguments):
    """Run a command with some options whose body is given."""

    @click.command(cls=Command)
    @click.option("--missing")
    @click.option("--components", type=int)
    @click.option("--memory-limit")
    @click.option("--overwrite", is_flag=True)
    def command(**_):
        body()

    return CliRunner().invoke(command, list(arguments))


def failing(error):
    def body():
        raise error

    return body


def test_command__an_expected_error_is_one_line_and_exit_code_1():
    result = outcome(
        failing(MissingValueError("row 5 is NaN;\n  use " + Setting("missing", "omit")))
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: row 5 is NaN; use --missing omit\n"


def test_command__a_long_explanation_ends_with_its_first_paragraph():
    result = outcome(
        failing(PlanError("does not fit: " + Setting("memory_limit") + "\n\nrows 5\nk 3"))
    )
    assert result.stderr == "error: does not fit: --memory-limit\n"


def test_command__an_unexpected_error_asks_for_debug():
    result = outcome(failing(ZeroDivisionError("division by zero")))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ZeroDivisionError: division")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_command__debug_adds_the_traceback():
    result = outcome(failing(MissingValueError("row 5 is NaN")), "--debug")
    assert result.exit_code == 1
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("error: row 5 is NaN\n")


def test_command__wrong_usage_is_exit_code_2():
    assert outcome(lambda: None, "--nonsense").exit_code == 2
    assert outcome(failing(click.UsageError("not so"))).exit_code == 2


def test_command__own_warnings_are_one_line_each_and_said_once():
    def body():
        for _ in range(3):
            warnings.warn("small\n chunks", LayoutWarning, stacklevel=1)
        warnings.warn("of a library", UserWarning, stacklevel=1)
        warnings.warn("of another", RuntimeWarning, stacklevel=1)

    assert outcome(body).stderr == "warning: small chunks\n"
    assert outcome(body, "--debug").stderr.splitlines() == [
        "warning: small chunks",
        "warning: of a library",
        "warning: of another",
    ]


def test_command__leaves_filters_and_loggers_as_they_were():
    level, filters = logging.getLogger("distributed").level, list(warnings.filters)
    during = []
    outcome(lambda: during.append(logging.getLogger("distributed").level))
    assert during == [logging.CRITICAL + 1]
    assert logging.getLogger("distributed").level == level
    assert warnings.filters == filters
    with pytest.raises(BigtensorWarning):
        warnings.warn("still an error in tests", BigtensorWarning, stacklevel=1)


def test_command__interrupted_says_what_is_kept(tmp_path):
    def nothing():
        when_interrupted([tmp_path / "model"], "parts are in DIR")
        raise KeyboardInterrupt

    def something():
        when_interrupted([tmp_path / "model", tmp_path / "csv"])
        (tmp_path / "model").write_text("whole")
        raise KeyboardInterrupt

    first, second = outcome(nothing), outcome(something)
    assert (first.exit_code, first.stderr) == (130, "interrupted: parts are in DIR\n")
    assert second.exit_code == 130
    assert second.stderr == f"interrupted: {tmp_path / 'model'} had been written\n"
    assert outcome(failing(KeyboardInterrupt())).stderr == "interrupted: nothing was written\n"


def test_kept__an_output_that_replaces_an_older_one_counts(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    kept = Kept([path], "nothing")
    assert kept.in_words() == "nothing"
    (tmp_path / "new").write_text("new")
    (tmp_path / "new").replace(path)
    assert kept.in_words() == f"{path} had been written"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Setting("n_components", 40) + " needs more rows", "--components 40 needs more rows"),
        ("use " + Setting("n_components", 1) + " or more", "use --components 1 or more"),
        ("seed " + Setting("random_state", 3), "seed --seed 3"),
        (
            "choose with " + Setting("offsets", "header", "text"),
            "choose with --offsets header or text",
        ),
        ("give " + Setting("n_components") + ", or n_rows", "give --components, or n_rows"),
        ("say which with " + Setting("format") + ")", "say which with --format)"),
        ("or give " + Setting("overwrite", True), "or give --overwrite"),
        ("use " + Setting("init", "kmeans") + " or more", "use init='kmeans' or more"),
        ("missing='omit' {0} % format= n_components", "missing='omit' {0} % format= n_components"),
        (
            "missing='omit' {0} %s: " + Setting("missing", "omit"),
            "missing='omit' {0} %s: --missing omit",
        ),
    ],
)
def test_written_for__parameters_become_options_and_text_stays(message, expected):
    names = ("--components", "--offsets", "--format", "--seed", "--missing")
    options = [click.Option([name]) for name in names]
    options.append(click.Option(["--overwrite"], is_flag=True))
    assert written_for(click.Command("x", params=options), message) == expected


def test_command__a_long_message_is_shortened_after_its_options_are_named():
    remedy = "; use " + Setting("missing", "omit")
    result = outcome(failing(MissingValueError("x" * 2 * MOST_CHARACTERS + remedy)))
    assert "characters left out" in result.stderr
    assert result.stderr.endswith("x; use --missing omit\n")
    assert len(result.stderr) < MOST_CHARACTERS + 100


def test_command__warnings_name_options():
    def body():
        message = "left out; see " + Setting("missing", "raise")
        warnings.warn(message, MissingValueWarning, stacklevel=1)

    assert outcome(body).stderr == "warning: left out; see --missing raise\n"


def all_commands(group=main):
    for command in group.commands.values():
        yield from all_commands(command) if isinstance(command, click.Group) else [command]


def test_help__lists_every_command_in_its_section():
    """Law: none is missing, and the order is that of use: data before models."""
    text = CliRunner().invoke(main, ["--help"]).stdout
    listed = re.findall(r"^  ([a-z-]+)  +[A-Z]", text.partition("\nData:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(main.commands)
    assert listed.index("import") < listed.index("fit") < listed.index("name")
    assert "..." not in text.partition("\nData:")[2]


def test_choices__suggest_a_word():
    """Law: a wrong word of any option is answered with the word that comes nearest."""
    choices = [
        parameter
        for command in all_commands()
        for parameter in command.params
        if isinstance(parameter.type, click.Choice)
    ]
    assert len(choices) > 15
    for parameter in choices:
        word = str(parameter.type.choices[-1])
        with pytest.raises(click.BadParameter, match="Did you mean") as caught:
            parameter.type.convert(word + word[-1], parameter, None)
        assert caught.value.message.count(repr(word)) == 2


@pytest.mark.parametrize(
    ("given", "hint"),
    [("KernelMixtur", "'kernel-mixture'?"), ("topics", "'topic'?"), ("hmm", "'bigtensor models'")],
)
def test_model__a_wrong_name_is_answered_with_a_right_one(given, hint):
    result = CliRunner().invoke(main, ["fit", "x.zarr", "--out", "m.zarr", "--model", given])
    assert result.exit_code == 2
    assert hint in result.stderr


def test_model__may_be_named_by_its_class():
    result = CliRunner().invoke(main, ["plan", "x.zarr", "--model", "GaussianMixture", "--help"])
    assert result.exit_code == 0
    by_command = CliRunner().invoke(main, ["plan", "x", "--model", "gaussian-mixture", "--help"])
    assert result.stdout == by_command.stdout


def commands_with_model_options():
    for name, command in main.commands.items():
        for model in BY_COMMAND if isinstance(command, ModelCommand) else ():
            yield pytest.param(name, model, id=f"{name} {model}")


@pytest.mark.parametrize(("name", "model"), [*commands_with_model_options()])
def test_errors__name_every_declared_parameter_by_its_option(name, model):
    """Each is refused a value in Python, and the error is written for the command."""
    command = main.commands[name]
    arguments = ["cells.zarr", "--model", model]
    arguments += ["--out", "out.zarr"] if any(p.name == "out" for p in command.params) else []
    command.make_context(name, arguments)
    declared = [entry for entry in declared_parameters(BY_COMMAND[model]) if entry.option]
    assert len(declared) > 3
    for parameter in declared:
        option = max(parameter.option.names, key=len)
        error = ParameterError(Setting(parameter.name) + " is 'never'; expected something else")
        assert written_for(command, error.message).startswith(f"{option} is 'never'; expected")
        if parameter.kind is None or parameter.kind.accepts("never"):
            continue
        with pytest.raises(ParameterError) as caught:
            parameter.check("never")
        assert str(caught.value).startswith(f"{parameter.setting()} is 'never'; expected")
        written = written_for(command, caught.value.message)
        assert written.startswith(f"{option} is 'never'; expected"), written
