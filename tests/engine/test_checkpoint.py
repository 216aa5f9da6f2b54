"""Checkpoints: parts match exactly what they were computed from, and damage is noticed."""

import errno
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bigtensor.data.opening import open_samples
from bigtensor.data.stores.leftovers import unfinished_name
from bigtensor.engine import checkpoint as checkpoint_module
from bigtensor.engine.checkpoint import (
    Checkpoint,
    PassCheckpoint,
    content_key,
    decode_state,
    encode_state,
    open_checkpoint,
)
from bigtensor.engine.events import Event
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import CheckpointError
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums

STATE = {"a/b c": np.arange(6.0).reshape(2, 3), "n": np.array(3), "none": np.empty((0, 2), "f4")}
VALUES = np.random.default_rng(1).normal(size=(100_000, 2))


@given(
    st.dictionaries(
        st.text(max_size=8),
        hnp.arrays(st.sampled_from(["f8", "f4", "i8", "u1", "?"]), hnp.array_shapes(min_side=0)),
        max_size=4,
    )
)
def test_state__survives_encoding_bit_for_bit(state: dict[str, Any]) -> None:
    again = decode_state(encode_state(state, "p/0-1.state"), "p/0-1.state")
    assert again is not None
    assert list(again) == list(state)
    for name, array in state.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        assert again[name].tobytes() == array.tobytes()


def test_state__that_is_torn_or_flipped_anywhere_is_not_decoded() -> None:
    content = encode_state(STATE, "a")
    for length in range(0, len(content), 7):
        assert decode_state(content[:length], "a") is None
    for place in range(0, len(content), 11):
        flipped = bytearray(content)
        flipped[place] ^= 0x40
        assert decode_state(bytes(flipped), "a") is None
    assert decode_state(content + b"x", "a") is None


def test_state__of_another_label_or_version_is_not_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = encode_state(STATE, "a")
    assert decode_state(content, "a") is not None
    assert decode_state(content, "b") is None
    monkeypatch.setattr(checkpoint_module, "FORMAT", 99)
    assert decode_state(content, "a") is None


def test_part__that_was_copied_over_another_is_not_used(tmp_path: Path) -> None:
    first, second = (PassCheckpoint(str(tmp_path / name)) for name in ("moments-0", "moments-1"))
    first.store((0, 10), STATE)
    folder = tmp_path / "moments-0"
    for name in ("10-20.state", "sum.state"):
        shutil.copy(folder / "0-10.state", folder / name)
    shutil.copytree(folder, tmp_path / "moments-1")
    assert first.load((0, 10)) is not None
    assert first.load((10, 20)) is None
    assert first.load(None) is None
    assert second.load((0, 10)) is None


@pytest.mark.parametrize("kind", ["folder", "url"])
def test_parts__are_found_loaded_and_idempotent(tmp_path: Path, kind: str) -> None:
    url = str(tmp_path / "deep" / "c") if kind == "folder" else f"memory://c-{tmp_path.name}"
    parts = PassCheckpoint(f"{url}/moments-0")
    assert parts.finished() == []
    assert parts.load((0, 10)) is None
    for _ in range(2):
        parts.store((10, 20), STATE)
        parts.store((0, 10), STATE)
    assert parts.finished() == [(0, 10), (10, 20)]
    loaded = parts.load((10, 20))
    assert loaded is not None
    np.testing.assert_array_equal(loaded["a/b c"], STATE["a/b c"])
    parts.store(None, STATE)
    parts.drop_parts()
    assert parts.finished() == []
    assert parts.load(None) is not None
    assert parts.load((0, 10)) is None


def test_parts__are_dropped_without_files_of_others(tmp_path: Path) -> None:
    parts = PassCheckpoint(str(tmp_path))
    parts.store((0, 10), STATE)
    others = ["notes.txt", "notes.state", "0-x.state", ".DS_Store", "0-10.state.unfinished"]
    for name in others:
        (tmp_path / name).write_bytes(b"?")
    assert parts.finished() == [(0, 10)]
    parts.store(None, STATE)
    parts.drop_parts()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "sum.state"])


def test_parts__that_are_dropped_leave_what_others_still_write(tmp_path: Path) -> None:
    parts = PassCheckpoint(str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    running = unfinished_name("0-10.state")
    here = running.split(".")[2]
    names = {
        running: True,
        f"0-10.state.{here}.{ended.pid}.0123abcd.unfinished": False,
        f"sum.state.{here}.{ended.pid}.0123abcd.unfinished": False,
        "0-10.state.another-machine.7.0123abcd.unfinished": True,
        "10-20.state.another-machine.7.0123abcd.unfinished": False,
        f"notes.txt.{here}.{ended.pid}.0123abcd.unfinished": True,
    }
    for name in names:
        (tmp_path / name).write_bytes(b"?")
    two_days_ago = time.time() - 2 * 86_400
    os.utime(tmp_path / "10-20.state.another-machine.7.0123abcd.unfinished", (two_days_ago,) * 2)
    parts.drop_parts()
    assert {path.name for path in tmp_path.iterdir()} == {name for name in names if names[name]}


def test_part__whose_unfinished_file_is_removed_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, move = PassCheckpoint(str(tmp_path)), LocalFileSystem.mv
    removed: list[str] = []

    def remove_first(self: Any, path: str, target: str, **options: Any) -> None:
        if not removed:
            removed.append(path)
            self.rm_file(path)
        move(self, path, target, **options)

    monkeypatch.setattr(LocalFileSystem, "mv", remove_first)
    parts.store((0, 10), STATE)
    assert removed
    assert parts.load((0, 10)) is not None


def test_sum__that_is_stored_lets_go_of_the_parts_of_a_run_that_was_killed(tmp_path: Path) -> None:
    pass_, checkpoint = Pass("sums", ColumnSums(2)), Checkpoint(str(tmp_path), "data")
    assert reused(checkpoint, pass_)[0] == 0
    (folder,) = tmp_path.iterdir()
    PassCheckpoint(str(folder)).store((0, 25_000), STATE)
    assert reused(checkpoint, pass_)[0] == 4
    assert [path.name for path in folder.iterdir()] == ["sum.state"]


@dataclass(frozen=True)
class Nested:
    number: Any
    mapping: Any = None


def test_content_key__tells_contents_apart_and_nothing_else() -> None:
    values = [
        1,
        1.0,
        True,
        "1",
        np.float32(1),
        None,
        (1,),
        [1, (2,)],
        [(1, 2)],
        {"a": 1},
        {"a": 1.0},
        {"b": 1},
        np.arange(3),
        np.arange(3.0),
        np.arange(3).astype(">i8"),
        np.arange(4).reshape(2, 2),
        np.arange(4),
        Nested(1),
        Nested(1, {}),
        Nested(Nested(1)),
        ColumnSums(1),
        np.dtype("f4"),
        0.1,
        0.1 + 1e-17 + 2**-56,
        -0.0,
        0.0,
        ["a", "b"],
        ["a b"],
        ["a' str 'b"],
    ]
    assert len({content_key(value) for value in values}) == len(values)
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert content_key(Nested(array)) == content_key(Nested(array.copy("C")))
    for opaque in (object(), len, {1, 2}, np.array([object()])):
        with pytest.raises(TypeError, match="cannot hash the content"):
            content_key(opaque)


def reused(
    checkpoint: Checkpoint, pass_: Pass[Any], values: np.ndarray = VALUES
) -> tuple[int, Any]:
    """Run a pass and return how many of its parts came from the checkpoint, and its result."""
    events: list[Event] = []
    samples = open_samples(values)
    result = run_pass(
        samples, pass_, ThreadedRuntime(1), checkpoint=checkpoint, listeners=[events.append]
    )
    assert events[-1].kind == "pass finished"
    assert events[-1].parts == events[-1].total_parts == 4
    return events[-1].reused, result


def test_checkpoint__matches_the_same_data_parameters_and_version_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pass_ = Pass("sums", ColumnSums(2))
    checkpoint = Checkpoint(str(tmp_path), "data")
    assert reused(checkpoint, pass_)[0] == 0
    assert reused(checkpoint, pass_)[0] == 4
    assert reused(replace(checkpoint, data="other"), pass_)[0] == 0
    assert reused(checkpoint, Pass("sums", ColumnSums(2, factor=2.0)))[0] == 0
    everything = tuple((start, start + 25_000) for start in range(0, 100_000, 25_000))
    assert reused(checkpoint, Pass("sums", ColumnSums(2), rows=everything))[0] == 0
    monkeypatch.setattr(checkpoint_module, "__version__", "0.0.0")
    assert reused(checkpoint, pass_)[0] == 0
    monkeypatch.undo()
    monkeypatch.setattr(checkpoint_module, "FORMAT", 99)
    assert reused(checkpoint, pass_)[0] == 0


def test_checkpoint__continues_from_parts_and_recomputes_damaged_ones(tmp_path: Path) -> None:
    pass_ = Pass("sums", ColumnSums(2))
    samples = open_samples(VALUES)
    undisturbed = run_pass(samples, pass_, ThreadedRuntime(2))
    checkpoint = Checkpoint(str(tmp_path), "data")

    def stop_after_three(event: Event) -> None:
        if event.parts == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pass(
            samples,
            pass_,
            ThreadedRuntime(1),
            checkpoint=checkpoint,
            listeners=[stop_after_three],
        )
    (folder,) = tmp_path.iterdir()
    parts = sorted(folder.glob("*.state"))
    assert len(parts) == 3
    parts[0].write_bytes(parts[0].read_bytes()[:-9])
    content = bytearray(parts[1].read_bytes())
    content[len(content) // 2] ^= 1
    parts[1].write_bytes(bytes(content))
    count, result = reused(checkpoint, pass_)
    assert count == 1
    for name, array in undisturbed.items():
        assert array.tobytes() == result[name].tobytes()
    assert [path.name for path in folder.iterdir()] == ["sum.state"]


@pytest.mark.parametrize("small_disk", ["64k"], indirect=True)
@pytest.mark.parametrize("threads", [1, 2])
def test_checkpoint__on_a_full_disk_says_so_and_keeps_what_was_stored(
    small_disk: Path, tmp_path: Path, threads: int
) -> None:
    wide = np.random.default_rng(2).normal(size=(200_000, 2))
    state = ColumnSums(2)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (48 * 1024))
    checkpoint = Checkpoint(str(small_disk / "c"), "data")
    with pytest.raises(CheckpointError) as caught:
        run_pass(
            open_samples(wide), Pass("sums", state), ThreadedRuntime(threads), checkpoint=checkpoint
        )
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert str(small_disk / "c") in str(caught.value)
    assert isinstance(caught.value, OSError)
    (folder,) = (small_disk / "c").iterdir()
    kept = list(folder.glob("*.state"))
    assert len(kept) >= 1
    assert not list(folder.glob("*.unfinished"))
    ballast.unlink()
    events: list[Event] = []
    result = run_pass(
        open_samples(wide),
        Pass("sums", state),
        ThreadedRuntime(threads),
        checkpoint=checkpoint,
        listeners=[events.append],
    )
    assert events[-1].reused == len(kept)
    np.testing.assert_allclose(result["sums"], wide.sum(axis=0))


@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_checkpoint__that_may_not_be_written_says_nothing_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    def refuse(_: LocalFileSystem, path: str, *__: Any, **___: Any) -> None:
        raise OSError(reason, os.strerror(reason), path)

    monkeypatch.setattr(LocalFileSystem, "pipe_file", refuse)
    with pytest.raises(CheckpointError, match=os.strerror(reason)) as caught:
        PassCheckpoint(str(tmp_path / "c")).store((0, 1), {"a": np.ones(1)})
    message = str(caught.value)
    assert "room" not in message
    assert "kept" not in message
    assert "permission" in message.replace(os.strerror(reason), "")
    assert str(tmp_path / "c") in message


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.EBUSY, "SlowDown"), "wait a few"),
        (PermissionError("The provided token has expired."), "credentials"),
    ],
)
def test_checkpoint__on_a_server_that_refuses_says_nothing_of_room(
    monkeypatch: pytest.MonkeyPatch, error: OSError, remedy: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
    with pytest.raises(CheckpointError, match=remedy) as caught:
        PassCheckpoint("memory://parts/moments-0").store((0, 1), STATE)
    assert "room" not in str(caught.value)
    assert "kept" in str(caught.value)


def test_checkpoint__that_cannot_be_read_or_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    parts = PassCheckpoint(str(tmp_path / "file" / "moments-0"))
    with pytest.raises(CheckpointError, match="cannot be written"):
        parts.store((0, 1), STATE)
    (tmp_path / "0-1.state").mkdir()
    with pytest.raises(CheckpointError, match=r"0-1.state in the checkpoint cannot be read"):
        PassCheckpoint(str(tmp_path)).load((0, 1))


@pytest.mark.parametrize(("name", "kind"), [("file", "a file"), ("link", "a link to nothing")])
def test_checkpoint__behind_a_file_or_a_broken_link_is_refused_before_a_pass(
    tmp_path: Path, name: str, kind: str
) -> None:
    """The remedy was to make room."""
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    samples = open_samples(np.ones((4, 2)))
    for place in (tmp_path / name, tmp_path / name / "inside" / "parts"):
        with pytest.raises(CheckpointError, match=f"{name} is {kind}"):
            open_checkpoint(place, samples)
    (tmp_path / "gone").mkdir()
    open_checkpoint(tmp_path / "link" / "parts", samples)


def test_state__with_objects_is_refused_when_it_is_written():
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        encode_state({"sums": np.array([{}], object)}, "label")
