"""Statistics in files, and their sums: the same bits back, nothing added that must not be."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, Statistics, simulate
from bigtensor.errors import ModelFileError, OutputError, StatisticsError, WeightWarning
from bigtensor.models.contract.statistics_file import Part, joined
from bigtensor.store import write_group


def statistics(seed: int, **changes) -> Statistics:
    """Statistics of their own rows, with a name that no file could have."""
    rng = np.random.default_rng(seed)
    rows = 10 + seed
    state = {
        "mass": rng.normal(size=3),
        "embedding/T cells: ../a": rng.normal(size=(4, 3)),
        "rows": np.array(rows),
    }
    part = Part(f"site {seed}", rows, 2.0 * rows, seed, "0.1.0", f"digest {seed}")
    made = Statistics("KernelMixture", "posterior", "a" * 64, "b" * 64, state, (part,))
    return replace(made, **changes)


def assert_equal(found: Statistics, expected: Statistics) -> None:
    assert list(found.state) == list(expected.state)
    for name, array in expected.state.items():
        assert found.state[name].dtype == array.dtype
        assert_array_equal(found.state[name], array)
    blank = {"state": {}}
    assert vars(replace(found, **blank)) == vars(replace(expected, **blank))


def test_file__gives_the_same_bits_back(tmp_path):
    made = statistics(1)
    path = made.save(tmp_path / "a.zarr")
    loaded = bigtensor.load(path)
    assert_equal(loaded, made)
    assert repr(loaded) == repr(made)
    assert "11 rows in 1 part(s)" in repr(made)
    assert "KernelMixture: posterior" in repr(made)
    with pytest.raises(OutputError, match="exists already"):
        made.save(path)
    assert made.save(path, overwrite=True) == path
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]


def test_damaged_file__is_refused(tmp_path):
    path = statistics(1).save(tmp_path / "a.zarr")
    for file in [file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json"]:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(ModelFileError, match="damaged"):
            bigtensor.merge([path])
        file.write_bytes(content)
    text = (path / "zarr.json").read_text()
    described = json.loads(text)
    described["attributes"]["contents"]["preparation"] = "c" * 64
    (path / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(ModelFileError, match="description is not what was written"):
        bigtensor.load(path)


def test_description_of_another_version__is_refused(tmp_path):
    contents = replace(statistics(1).to_contents(), attrs={})
    path = write_group(tmp_path / "a.zarr", contents)
    with pytest.raises(ModelFileError, match="description of this Statistics"):
        bigtensor.merge([path])


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(4)), cut=st.integers(1, 3))
def test_merge__adds_in_any_order_and_nesting(order, cut):
    given_parts = [statistics(seed) for seed in order]
    nested = [bigtensor.merge(given_parts[:cut]), *given_parts[cut:]]
    merged = bigtensor.merge(nested)
    for name in statistics(0).state:
        expected = sum(statistics(seed).state[name] for seed in range(4))
        assert_allclose(merged.state[name], expected, rtol=1e-12, atol=1e-12)
        assert merged.state[name].shape == np.shape(expected)
    assert (merged.rows, merged.weight, merged.rows_left_out) == (46, 92.0, 6)
    assert sorted(part.data for part in merged.parts) == [f"site {seed}" for seed in range(4)]
    assert merged.data == f"site {order[0]} [and 3 more]"


def test_merge__takes_paths_and_leaves_what_it_is_given(tmp_path):
    a, b = statistics(1), statistics(2)
    paths = [a.save(tmp_path / "a.zarr"), str(b.save(tmp_path / "b.zarr"))]
    merged = bigtensor.merge(paths)
    assert_equal(merged, bigtensor.merge([a, b]))
    assert_equal(a, statistics(1))
    assert_equal(bigtensor.load(merged.save(tmp_path / "c.zarr")), merged)
    assert_equal(bigtensor.merge([a]), a)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "TopicModel"}, "different models, KernelMixture and TopicModel"),
        ({"preparation": "c" * 64}, r"preparations \(aaaaaaaa and cccccccc\)"),
        ({"pass_name": "moments", "mixture": ""}, "different passes, posterior and moments"),
        ({"mixture": "d" * 64}, r"mixtures .*\(bbbbbbbb and dddddddd\)"),
    ],
)
def test_merge__refuses_what_does_not_belong_together(changes, words):
    a, other = statistics(1), statistics(2, **changes)
    with pytest.raises(StatisticsError, match=f"of site 1 and of site 2 .*{words}"):
        bigtensor.merge([a, other])
    with pytest.raises(StatisticsError):
        joined(a, other)


def test_merge__refuses_rows_that_are_given_twice():
    a, b, c = (statistics(seed) for seed in range(3))
    for twice in ([a, b, a], [bigtensor.merge([a, b]), bigtensor.merge([c, a])]):
        with pytest.raises(StatisticsError, match=r"site 0 .* twice.*10 rows"):
            bigtensor.merge(twice)
    with pytest.raises(StatisticsError, match="no statistics to merge"):
        bigtensor.merge([])


def test_merge__warns_where_parts_of_a_store_have_more_rows_than_the_store(tmp_path):
    simulate.write_cytometry(tmp_path / "cells.zarr", 2000, 3, random_state=2)
    model = KernelMixture(2, random_state=0).prepare(tmp_path / "cells.zarr")
    feature = model.views_.feature_names[0]
    whole, above, below = (
        model.accumulate(bigtensor.open_samples(tmp_path / "cells.zarr", where=where))
        for where in (None, f"{feature} > 1", f"{feature} <= 1")
    )

    assert bigtensor.merge([above, below]).rows == 2000
    with pytest.warns(WeightWarning, match="some count more than once"):
        bigtensor.merge([whole, above])


def test_merge__refuses_other_files(model, tmp_path):
    path = model.save(tmp_path / "model.zarr")
    with pytest.raises(ModelFileError, match="'KernelMixture' and no statistics"):
        bigtensor.merge([path])
    with pytest.raises(ModelFileError, match="holds no statistics"):
        bigtensor.merge([tmp_path / "nothing.zarr"])
    zarr.create_group(tmp_path / "other.zarr")
    with pytest.raises(ModelFileError, match=r"statistics are expected.*accumulate"):
        bigtensor.merge([tmp_path / "other.zarr"])


def test_joined__keeps_one_description_of_all_batches():
    total = statistics(0)
    for seed in (1, 2, 2):
        total = joined(total, statistics(seed))
    assert_allclose(
        total.state["mass"],
        sum(statistics(seed).state["mass"] for seed in (0, 1, 2, 2)),
        rtol=1e-12,
    )
    (part,) = total.parts
    assert (part.rows, part.weight, part.rows_left_out) == (45, 90.0, 5)
    assert part.data == "batches, the latest site 2"
    assert bigtensor.merge([total, statistics(5)]).rows == 60


def test_sums__of_disjoint_rows_are_those_of_a_direct_formula(tmp_path):
    """Triple moments of two sites from their files, against products of features in one array."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(500, 3)) + rng.choice(3, size=500)[:, None] * 4.0
    model = KernelMixture(
        2,
        spectral=SpectralOptions(n_landmarks=12, feature_dtype="float64"),
        pilot_rows=500,
        random_state=1,
    ).prepare(rows)
    cuts = (0, 37, 37, 500)
    paths = [
        model.accumulate(rows[a:b]).save(tmp_path / f"{place}.zarr")
        for place, (a, b) in enumerate(itertools.pairwise(cuts))
        if b > a
    ]
    merged = bigtensor.merge(paths)
    features = []
    for group in model._rounds.preparation.groups:
        (feature_map,) = group.maps
        (view,) = group.views
        column = model.views_.names.index(view)
        kernel = feature_map.kernel.evaluate(rows[:, [column]], feature_map.landmarks)
        features.append(np.hstack([np.ones((500, 1)), kernel @ feature_map.projection]))
    expected = np.einsum("ia,ib,ic->abc", *features)
    assert_allclose(merged.state["triple"], expected, atol=1e-9 * np.abs(expected).max())
