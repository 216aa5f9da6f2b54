"""Documents of a topic model: the same in memory and in a store, with moments of their truth."""

import anndata
import numpy as np
import pytest

from bigtensor import simulate
from bigtensor.errors import ParameterError


def test_store__has_the_rows_of_memory(tmp_path):
    settings = {"n_words": 80, "mean_length": 20.0, "random_state": 3}
    data = simulate.topics(70_000, 3, **settings)
    calls = []
    simulate.write_topics(
        tmp_path / "c.zarr", 70_000, 3, **settings, progress=lambda *now: calls.append(now)
    )
    stored = anndata.io.read_zarr(tmp_path / "c.zarr")
    assert (stored.X != data.X).nnz == 0
    assert np.array_equal(stored.varm["true_topics"], data.varm["true_topics"])
    assert calls == [(65_536, 70_000), (70_000, 70_000)]


def test_counts__have_the_moments_of_their_truth():
    data = simulate.topics(40_000, 4, n_words=50, mean_length=30, frequencies="uniform")
    truth, shares = data.varm["true_topics"], data.obsm["true_shares"]
    assert truth.sum(axis=0) == pytest.approx(1)
    lengths = data.X.sum(axis=1)
    assert lengths.mean() == pytest.approx(30, abs=0.2)
    assert lengths.var() == pytest.approx(30, rel=0.05)
    # a word of expected count n deviates by its root
    expected = (lengths[:, None] * (shares @ truth.T)).sum(axis=0)
    found = np.asarray(data.X.sum(axis=0)).ravel()
    assert (np.abs(found - expected) / np.sqrt(expected + 1)).max() < 5
    assert shares.var(axis=0) == pytest.approx(np.full(4, 0.25 * 0.75 / 2), rel=0.05)


def test_rows__have_sorted_distinct_words():
    rows = simulate.topics(300, 3, n_words=40).X
    assert rows.has_canonical_format
    assert rows.data.min() >= 1


def test_short_documents__have_three_words():
    assert simulate.topics(200, 2, mean_length=0.5).X.sum(axis=1).min() == 3


@pytest.mark.parametrize(
    "settings", [{"concentration": 0.0}, {"mean_length": -1.0}, {"frequencies": "flat"}]
)
def test_parameters_out_of_range__are_refused(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        simulate.topics(10, 2, **settings)
