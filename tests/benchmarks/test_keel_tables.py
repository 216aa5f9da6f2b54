"""Tests of reading tables of the KEEL repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.benchmarks.keel_tables import keel_tables


def test_tables__have_numbers_words_and_classes__of_their_file(tmp_path: Path) -> None:
    (tmp_path / "first.dat").write_text("1.5, b, yes\n-2, a, no\n3e2, b, yes\n")
    (tmp_path / "second.dat").write_text("1,2\n3,4\n")
    first, second = keel_tables(tmp_path)
    np.testing.assert_array_equal(first.values, [[1.5, 1], [-2, 0], [300, 1]])
    np.testing.assert_array_equal(first.categorical, [False, True])
    np.testing.assert_array_equal(first.classes, [1, 0, 1])
    assert (first.name, second.name) == ("first", "second")
    assert [table.name for table in keel_tables(tmp_path, "judge")] == ["second"]
