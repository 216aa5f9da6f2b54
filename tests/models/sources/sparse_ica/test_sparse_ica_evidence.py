"""Evidence for and against sparse sources: further sources, redundant columns, ranks, verdicts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from bigtensor import SparseICA
from bigtensor.data.rows.block import Block
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    IdentifiabilityError,
    WeightWarning,
)
from bigtensor.models.sources.sparse_ica import script
from bigtensor.models.sources.sparse_ica.dictionary import SparseDictionary
from bigtensor.models.sources.sparse_ica.polish import MOST_CANDIDATES, lacks_sources, polished
from tests.models.sources.ica.problems import column_error
from tests.models.sources.sparse_ica.problems import sparse_problem


def sines(columns, true):
    """Return the sine of every column to the nearest true one."""
    cosines = np.abs(unit(columns).T @ true).max(axis=1)
    return np.sqrt(1 - np.minimum(cosines, 1) ** 2)


def unit(columns):
    return columns / np.linalg.norm(columns, axis=0)


def quiet_fit(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantFeatureWarning)
        return model.fit(rows)


@pytest.mark.parametrize("k", [1, 3])
def test_further_sources__do_not_turn_columns(k):
    rows, columns, _ = sparse_problem(5, 4, 0.4, 5_000, noise=0.02, seed=7, dtype="f8")
    model = SparseICA(k, random_state=0).fit(rows)
    assert sines(model.mixing_, columns).max() < 0.08
    assert model.diagnostics_["further_sources"]
    (sentence,) = (s for s in model.diagnostics_["verdict"]["sentences"] if "more than th" in s)
    assert "more sources (n_components)" in sentence
    assert not model.n_iter_


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("k", [None, 4])
def test_sources_left_out_as_light__are_not_more_sources_to_ask_for(k):
    rng = np.random.default_rng(2)
    sparse = rng.standard_normal((5_000, 2)) * (rng.random((5_000, 2)) < 0.1)
    sources = np.hstack([sparse, rng.uniform(-1, 1, (5_000, 2))])
    model = SparseICA(k, random_state=0).fit(sources @ rng.standard_normal((4, 4)))
    assert model.diagnostics_["light_tails"] == 2
    assert model.diagnostics_["further_sources"]
    (sentence,) = (s for s in model.diagnostics_["verdict"]["sentences"] if "more than th" in s)
    assert "more sources" not in sentence
    assert "model ICA" in sentence


def test_rows_of_negligible_weight__make_no_further_sources():
    rows, columns, sources = sparse_problem(5, 3, 0.3, 10_000, noise=0.02, seed=0, dtype="f8")
    even = np.arange(len(rows)) % 2 == 0
    # odd rows lack the third source
    rows[~even] -= sources[~even, 2:] @ columns[:, 2:].T
    scales = rows.std(axis=0)
    block = Block(rows, {"X": slice(0, 5)}, 0, len(rows))
    columns = unit(columns[:, :2] / scales[:, None])
    dictionary = SparseDictionary(columns, np.zeros(5), scales, 0.5, 5, 5)
    for heavy in (even, ~even):
        weighted = replace(block, weight=np.where(heavy, 1.0, 1e-9))
        assert lacks_sources(dictionary, weighted, "float64") == (heavy is even)


@pytest.mark.parametrize("seed", range(3))
def test_right_number_of_sources__is_polished(seed):
    rows, columns, _ = sparse_problem(5, 4, 0.4, 5_000, noise=0.02, seed=seed, dtype="f8")
    model = SparseICA(4, random_state=0).fit(rows)
    assert not model.diagnostics_["further_sources"]
    assert sines(model.mixing_, columns).max() < 0.01


def test_number_of_sources__does_not_count_mixtures_of_others():
    counts = []
    for seed in range(8):
        rows, _, _ = sparse_problem(8, 6, 0.6, 1_000, noise=0.02, seed=seed, dtype="f8")
        counts.append(SparseICA(random_state=0).fit(rows).mixing_.shape[1])
    assert counts.count(6) >= 7


def test_redundant_columns__stay_out_where_the_cumulant_is_refined(monkeypatch):
    rows, columns, _ = sparse_problem(8, 6, 0.6, 1_000, noise=0.02, seed=5, dtype="f8")
    monkeypatch.setattr(script, "lacks_sources", lambda *_: True)
    model = SparseICA(random_state=0).fit(rows)
    assert not model.n_iter_
    assert model.diagnostics_["redundant"] == 1
    assert model.mixing_.shape == (8, 6)
    assert sines(model.mixing_, columns).max() < 0.3
    # six sources, each active in a tenth of the rows
    assert model.diagnostics_["active_by_kurtosis"] < 0.75
    sentences = model.diagnostics_["verdict"]["sentences"]
    assert sum("short column" in s for s in sentences) == 1
    # the redundant column stands out as well
    (sentence,) = (s for s in sentences if "sources stand out" in s)
    assert sentence.startswith("7 of 8")


def test_short_columns__are_tried_from_the_shortest_on():
    rng = np.random.default_rng(0)
    sources = rng.standard_normal((2_000, 20)) * (rng.random((2_000, 20)) < 0.1)
    lengths = np.where(np.arange(20) < 9, 0.3, 1.0)
    block = Block(sources * lengths, {"X": slice(0, 20)}, 0, len(sources))
    dictionary = SparseDictionary(np.eye(20), np.zeros(20), np.ones(20), 0.05, 20, 20)
    steps = list(polished(dictionary, block, "float64"))
    tried = [step for step in steps if step.name.endswith("short column")]
    assert [step.part for step in tried] == list(range(1, MOST_CANDIDATES + 1))


def test_sources_of_unlike_sizes__stay():
    for seed in range(4):
        rows, columns, sources = sparse_problem(4, 4, 0.4, 5_000, seed=seed, dtype="f8")
        rows = rows - sources @ columns.T + sources @ (columns * [1, 0.5, 0.3, 0.2]).T
        model = SparseICA(random_state=0).fit(rows)
        assert column_error(columns, model.mixing_) < 0.1


@pytest.mark.parametrize("max_iter", [0, 2])
def test_constant_features__change_no_code(max_iter):
    rows, _, _ = sparse_problem(4, 4, 0.4, 3_000, noise=0.06, seed=1, dtype="f8")
    wide = np.insert(rows, [2] * 5, 1.0, axis=1)
    model = SparseICA(4, max_iter=max_iter, random_state=0)
    alone = model.fit(rows).transform(rows)
    noise, threshold = model.diagnostics_["noise"], model.solution_.threshold
    sources = quiet_fit(model, wide).transform(wide)
    assert model.diagnostics_["noise"] == pytest.approx(noise, rel=1e-3)
    assert model.solution_.threshold == pytest.approx(threshold, rel=1e-3)
    assert (sources != 0).mean() == pytest.approx((alone != 0).mean(), rel=0.01)


def test_dependent_features__leave_noise_along_the_axes():
    rows, _, _ = sparse_problem(4, 3, 0.3, 5_000, noise=0.06, seed=1, dtype="f8")
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 4)))[0]
    alone = SparseICA(3, random_state=0).fit(rows)
    wide = SparseICA(3, random_state=0).fit(rows @ turn.T)
    assert wide.diagnostics_["noise"] == pytest.approx(alone.diagnostics_["noise"], rel=0.3)
    assert wide.activity_.mean() == pytest.approx(alone.activity_.mean(), rel=0.2)


def test_constant_feature__leaves_more_sources_than_other_features():
    rows, columns, _ = sparse_problem(3, 4, 0.4, 5_000, seed=0, dtype="f8")
    model = quiet_fit(SparseICA(4, random_state=0), np.insert(rows, 1, 0.0, axis=1))
    assert model.mixing_.shape == (4, 4)
    alone = SparseICA(4, random_state=0).fit(rows)
    assert column_error(alone.mixing_, np.delete(model.mixing_, 1, axis=0)) < 1e-3
    assert column_error(columns, alone.mixing_) < 0.05


def test_spikes_of_equal_height__are_sparse():
    rng = np.random.default_rng(3)
    sources = (rng.random((3_000, 4)) < 0.1).astype(float)
    columns = rng.standard_normal((4, 4))
    rows = sources @ columns.T + 0.015 * rng.standard_normal((3_000, 4))
    model = SparseICA(4, random_state=0).fit(rows)
    assert column_error(columns, model.mixing_) < 0.02
    # Gaussian heights with this kurtosis would be active in a third of the rows
    assert model.diagnostics_["active_by_kurtosis"] > 4 / 3
    assert model.diagnostics_["verdict"]["good"]


def test_fewer_sources_than_asked_for__are_always_a_warning():
    fewer = 0
    for seed in range(6):
        rows, _, _ = sparse_problem(5, 4, 0.4, 1_000, noise=0.02, seed=seed, dtype="f8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = SparseICA(5, random_state=0).fit(rows)
        if model.mixing_.shape[1] < 5:
            fewer += 1
            assert any(issubclass(w.category, ConditioningWarning) for w in caught), seed
    assert fewer


def test_small_weights__have_their_own_remedy():
    rows, _, _ = sparse_problem(3, 3, 0.3, 500, seed=0, dtype="f8")
    weights = np.full(500, 1 / 500)
    with (
        pytest.warns(WeightWarning),
        pytest.raises(IdentifiabilityError, match="weights='relative'"),
    ):
        SparseICA(3).fit(rows, sample_weight=weights)
    model = SparseICA(3, weights="relative", random_state=0).fit(rows, sample_weight=weights)
    assert model.mixing_.shape == (3, 3)
