"""Progress that appears by itself in Python, on terminals and in notebooks."""

import io
import sys
import threading
import types

import pytest
import rich.progress  # noqa: F401  (takes longer than the work of a test)

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.engine.events import WATCHER, Event, Progress, Steps
from bigtensor.engine.progress import automatic
from bigtensor.engine.progress.automatic import shown_progress


class Terminal(io.StringIO):
    """Standard error of a person."""

    def isatty(self):
        return True


class Handle:
    """Output of a cell."""

    def __init__(self):
        self.pages = []

    def update(self, page, raw):
        assert raw
        self.pages.append(page["text/html"])


def terminal_of(monkeypatch):
    """Make standard error a terminal, and return it.

    A fixture could not, because pytest captures standard error anew for the test itself.
    """
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


@pytest.fixture
def handle(monkeypatch):
    """A notebook, whose output is kept."""
    handle = Handle()
    shell = types.SimpleNamespace(kernel=object())
    package = types.SimpleNamespace(get_ipython=lambda: shell)
    display = types.SimpleNamespace(display=lambda *_, **__: handle)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return handle


def work(name="moments"):
    """Do a pass of two parts, the second of which waits until something is shown; return 0."""
    progress = Progress(name, 3000, 2)
    progress.start()
    progress.part(0, 1000, 1000, reused=False)
    shown = threading.Event()
    threading.Timer(0.4, shown.set).start()
    shown.wait()
    progress.part(1000, 2000, 1000, reused=False)
    progress.finish()
    return 0


def test_terminal__shows_long_work_and_clears_it(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with shown_progress(0.05):
        work()
    text = terminal.getvalue()
    assert "moments" in text
    # the line is cleared and the cursor is back
    assert "\x1b[2K" in text.rpartition("moments")[2]
    assert "\x1b[?25h" in text.rpartition("moments")[2]


def test_terminal__short_work_shows_nothing(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with shown_progress(60):
        work()
    assert terminal.getvalue() == ""


def test_notebook__replaces_a_bar_in_place(handle):
    with shown_progress(0.05):
        work("weights by <b>")
    assert any("weights by &lt;b&gt;" in page for page in handle.pages)
    assert any("<progress value=" in page for page in handle.pages)
    assert not any("<script" in page for page in handle.pages)
    assert handle.pages[-1] == ""


def test_steps_of_the_driver__are_shown_too(handle):
    with shown_progress(0.05):
        steps = Steps(())
        steps.advance("preparing the features", 0, 0)
        work()
        steps.finish()
    assert any("preparing the features" in page or "moments" in page for page in handle.pages)


def test_set_progress__is_a_setting_and_a_block(monkeypatch):
    terminal = terminal_of(monkeypatch)
    with bigtensor.set_progress(False), shown_progress(0.0):
        work()
    assert terminal.getvalue() == ""
    try:
        bigtensor.set_progress(False)
        with bigtensor.set_progress(True):
            pass
        with shown_progress(0.0):
            work()
        assert terminal.getvalue() == ""
    finally:
        bigtensor.set_progress(True)


def test_outside_of_a_terminal__nothing_watches(capsys):
    with shown_progress(0.0):
        assert WATCHER.get() is None
        work()
    assert capsys.readouterr().err == ""


def test_other_threads__have_no_bar_of_their_own(monkeypatch):
    terminal_of(monkeypatch)
    seen = []

    def task():
        with shown_progress(0.0):
            seen.append(WATCHER.get())

    thread = threading.Thread(target=task)
    thread.start()
    thread.join()
    assert seen == [None]


def test_work_within_work__has_one_bar(monkeypatch):
    terminal_of(monkeypatch)
    with shown_progress(60):
        outer = WATCHER.get()
        with shown_progress(60):
            assert WATCHER.get() is outer
    assert WATCHER.get() is None


def test_fit_and_answers__tell_the_watcher(monkeypatch, handle):
    monkeypatch.setattr(automatic, "DELAY_SECONDS", 0.0)
    events = []
    monkeypatch.setattr(automatic.Watcher, "listen", lambda _, event: events.append(event))
    cells = simulate.kernel_mixture(2_000, 2, random_state=0)
    model = KernelMixture(2, random_state=0).fit(cells)
    assert "moments" in {event.name for event in events}
    events.clear()
    model.predict(cells)
    assert {event.kind for event in events} >= {"pass started", "pass finished"}


def test_error_in_the_work__removes_the_bar(monkeypatch):
    terminal_of(monkeypatch)
    with pytest.raises(ZeroDivisionError), shown_progress(0.05):
        1 / work()
    assert WATCHER.get() is None


def test_event__has_the_tasks_at_once():
    assert Event("pass started", "moments", 0, 1, 0, 1).at_once == 1
