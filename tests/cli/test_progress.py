import io
import re

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from bigtensor.cli.progress import Lines
from bigtensor.engine.events import Event
from bigtensor.engine.progress.displays import Bars
from bigtensor.engine.progress.reporter import Reporter, duration, pace


def events(name, *parts, seconds=1.0, reused=0):
    """Yield what an engine tells of a pass whose first parts come from a checkpoint."""
    total = parts[-1][1]
    yield Event("pass started", name, 0, total, 0, len(parts))
    for index, (start, stop) in enumerate(parts):
        known = min(index + 1, reused)
        at = seconds * (index + 1) / len(parts)
        yield Event(
            "part finished", name, stop, total, index + 1, len(parts), known, start, stop, at
        )
    yield Event("pass finished", name, total, total, len(parts), len(parts), reused, 0, 0, seconds)


def test_pace__is_rows_a_second_and_time_left():
    assert pace(1000, 2.0, 4000) == "500 rows/s, 8.0 s left"
    assert pace(1000, 2.0, None) == "500 rows/s"
    assert pace(0, 2.0, 4000) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (42.4, "42 s"), (61, "1 min 01 s"), (7260, "2 h 01 min")],
)
def test_duration__has_two_units_at_most(seconds, words):
    assert duration(seconds) == words


def test_lines__one_line_a_pass_without_a_terminal(capsys):
    reporter = Reporter(Lines())
    for event in events("moments", (0, 1000), (1000, 4000), seconds=2.0):
        reporter.listen(event)
    captured = capsys.readouterr()
    assert captured.err == "moments: 4,000 rows, 2.0 s, 3,000 rows/s\n"
    assert captured.out == ""


def test_reporter__rows_of_a_checkpoint_do_not_count_for_the_speed(capsys):
    reporter = Reporter(Lines())
    parts = ((0, 1000), (1000, 2000), (2000, 4000), (4000, 6000))
    for event in events("moments", *parts, seconds=4.0, reused=1):
        reporter.listen(event)
    for event in events("posterior 1", (0, 4000), reused=1):
        reporter.listen(event)
    first, second = capsys.readouterr().err.splitlines()
    assert first.split(", ")[:3] == ["moments: 6,000 rows", "4.0 s", "2,000 rows/s"]
    assert "1 parts from the checkpoint" in first
    assert second.startswith("posterior 1: 4,000 rows, ")
    assert "from the checkpoint" in second


def test_reporter__leaves_the_first_part_of_every_worker_out_of_the_speed(capsys, monkeypatch):
    """It waits for the compilation, which would look like a slow pass."""
    monkeypatch.setattr("bigtensor.cli.progress.LINE_SECONDS", 0.0)
    reporter = Reporter(Lines())
    reporter.listen(Event("pass started", "moments", 0, 6000, 0, 6, at_once=2))
    for part, at in enumerate((10.0, 10.1, 11.1, 12.1, 13.1, 14.1), 1):
        event = Event("part finished", "moments", 1000 * part, 6000, part, 6, seconds=at, at_once=2)
        reporter.listen(event)
    starting, first, *others = capsys.readouterr().err.splitlines()
    assert starting == "moments: 0% of 6,000 rows, starting"
    assert "rows/s" not in first
    assert "rows/s" not in others[1]
    assert others[2].split(", ")[1:] == ["1,000 rows/s", "2.0 s left"]
    reporter.listen(Event("pass finished", "moments", 6000, 6000, 6, 6, seconds=14.1, at_once=2))
    assert capsys.readouterr().err == "moments: 6,000 rows, 14 s\n"


def test_reporter__counts_the_rows_of_a_part_and_not_those_between_them(capsys):
    reporter = Reporter(Lines())
    reporter.listen(Event("pass started", "pilot", 0, 200, 0, 1))
    reporter.listen(Event("part finished", "pilot", 200, 200, 1, 1, 0, 0, 90_000, 2.0))
    reporter.listen(Event("pass finished", "pilot", 200, 200, 1, 1, 0, 0, 0, 2.0))
    assert capsys.readouterr().err == "pilot: 200 rows, 2.0 s\n"


def test_reporter__a_pass_that_was_stored_whole_has_no_speed(capsys):
    reporter = Reporter(Lines())
    reporter.listen(Event("pass started", "moments", 0, 4000, 0, 2))
    reporter.listen(Event("pass finished", "moments", 4000, 4000, 2, 2, 2, 0, 0, 0.01))
    assert re.fullmatch("moments: 4,000 rows, .* checkpoint\n", capsys.readouterr().err)


def waiting(seconds):
    return Event("waiting for workers", "moments", 0, 4000, 0, 2, seconds=seconds)


def test_reporter__says_once_a_minute_that_workers_are_waited_for(capsys):
    reporter = Reporter(Lines())
    reporter.listen(Event("pass started", "moments", 0, 4000, 0, 2))
    for minutes in range(3):
        reporter.listen(waiting(60.0 * minutes))
    reporter.listen(Event("pass finished", "moments", 4000, 4000, 2, 2, seconds=1, lost_workers=3))
    first, second, third, last = capsys.readouterr().err.splitlines()
    assert first == "moments: waiting for workers"
    assert [line.split("none for ")[1] for line in (second, third)] == ["1 min 00 s", "2 min 00 s"]
    assert last.endswith("workers lost: 3")


def test_bars__show_that_workers_are_waited_for():
    with Progress(TextColumn("{task.fields[words]}"), console=Console(file=io.StringIO())) as bars:
        reporter = Reporter(Bars(bars))
        reporter.listen(Event("pass started", "moments", 0, 4000, 0, 2))
        reporter.listen(waiting(120.0))
        (task,) = bars.tasks
        assert "2 min 00 s" in task.fields["words"]


def steps(seconds):
    """Yield what a fit tells of two parts of a step, the first of which takes long."""
    yield Event("step started", "choosing the ridge", 0, 0, 0, 0)
    yield Event("step advanced", "choosing the ridge", 0, 0, 1, 3)
    yield Event("step advanced", "choosing the ridge", 0, 0, 2, 3, seconds=seconds / 2)
    yield Event("step finished", "choosing the ridge", 0, 0, 0, 0, seconds=seconds)


def test_lines__tell_of_long_steps_of_the_driver(capsys, monkeypatch):
    reporter = Reporter(Lines())
    for event in steps(seconds=0.9):
        reporter.listen(event)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("bigtensor.cli.progress.LINE_SECONDS", 0.0)
    for event in steps(seconds=42.0):
        reporter.listen(event)
    assert capsys.readouterr().err.splitlines() == [
        "choosing the ridge: 1 of at most 3",
        "choosing the ridge: 2 of at most 3",
        "choosing the ridge: 42 s",
    ]


def test_bars__show_the_step_that_runs_and_keep_long_ones():
    screen = io.StringIO()
    columns = (TextColumn("{task.description}"), TextColumn("{task.fields[words]}"))
    with Progress(
        *columns, console=Console(file=screen, force_terminal=True), auto_refresh=False
    ) as progress:
        reporter = Reporter(Bars(progress))
        short, part, *_, end = steps(seconds=0.5)
        reporter.listen(short)
        reporter.listen(part)
        assert [task.fields["words"] for task in progress.tasks] == ["1 of at most 3"]
        reporter.listen(end)
        assert not progress.tasks
        for event in steps(seconds=5.0):
            reporter.listen(event)
        (task,) = progress.tasks
        assert (task.description, task.fields["words"]) == ("choosing the ridge", "5.0 s")
        assert task.finished


def test_bars__one_bar_a_pass_on_a_terminal():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}"),
    )
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        reporter = Reporter(Bars(progress))
        for name in ("moments", "posterior 1"):
            for event in events(name, (0, 1000), (1000, 4000), seconds=2.0):
                reporter.listen(event)
        assert [(task.description, task.completed) for task in progress.tasks] == [
            ("moments", 4000),
            ("posterior 1", 4000),
        ]
        progress.refresh()
    assert "3,000 rows/s" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_rows__a_step_of_unknown_length_ends_with_its_block(capsys):
    with Reporter(Lines()).rows("import") as advance:
        advance(10, None)
        advance(30, None)
    assert capsys.readouterr().err.startswith("import: 30 rows, ")


def test_lines__later_passes_of_one_name_share_a_line(capsys):
    lines = Lines()
    reporter = Reporter(lines)
    for name in ("posterior 1", "posterior 2", "posterior 3", "posterior 1", "order"):
        for event in events(name, (0, 4000), seconds=2.0):
            reporter.listen(event)
    first, together, last = capsys.readouterr().err.splitlines()
    assert first.startswith("posterior 1: 4,000 rows")
    assert together.startswith("posterior: 3 more passes, ")
    assert last.startswith("order: 4,000 rows")
    reporter.listen(Event("pass started", "posterior 2", 0, 1000, 0, 1))
    for event in events("posterior 2", (0, 1000)):
        reporter.listen(event)
    lines.leave()
    assert capsys.readouterr().err.startswith("posterior 2: 1,000 rows")
