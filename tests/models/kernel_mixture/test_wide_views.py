"""Views of tens to hundreds of raw features are a plain call."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import bigtensor
from bigtensor import KernelMixture
from bigtensor.decomposition.multiview.mixture_checks import check_rank
from bigtensor.decomposition.multiview.subspaces import Subspaces
from bigtensor.errors import IdentifiabilityError
from tests.parameters import first_quick

DIGITS = Path(__file__).parents[3] / ".." / "shared" / "data" / "mfeat.npz"


def accuracy(label, found):
    counts = np.zeros((label.max() + 1, found.max() + 1))
    np.add.at(counts, (label, found), 1)
    rows, columns = linear_sum_assignment(-counts)
    return counts[rows, columns].sum() / len(label)


@pytest.fixture(scope="module")
def wide():
    """Five components in four views of a hundred features in different units."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 5, 2000)
    parts = []
    for _ in range(4):
        means = 6 * rng.normal(size=(5, 100)) / 10
        units = np.exp(2 * rng.normal(size=100))
        parts.append((means[label] + rng.normal(size=(2000, 100))) * units)
    views = {f"v{view}": list(range(100 * view, 100 * (view + 1))) for view in range(4)}
    return np.hstack(parts), label, views


@pytest.mark.parametrize("start", first_quick(["spectral", "kmeans"]))
def test_wide_views__of_raw_features(wide, start):
    rows, label, views = wide
    model = KernelMixture(5, views=views, init=start, random_state=0).fit(rows)
    assert accuracy(label, np.asarray(model.predict(rows))) > 0.99


@pytest.mark.slow
def test_wide_views__answers_survive_saving(wide, tmp_path):
    rows, _, views = wide
    model = KernelMixture(5, views=views, random_state=0).fit(rows)
    model.save(tmp_path / "model.zarr")
    loaded = bigtensor.load(tmp_path / "model.zarr")
    scores = np.asarray(model.score_samples(rows[:200]))
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, np.asarray(loaded.score_samples(rows[:200])))
    drawn, component = model.sample(500)
    assert np.mean(np.asarray(model.predict(drawn)) == component) > 0.95


@pytest.mark.slow
def test_wide_views__handwritten_digits_in_six_views():
    if not DIGITS.exists():
        pytest.skip("needs ../shared/data/mfeat.npz")
    with np.load(DIGITS) as stored:
        label = stored["labels"].astype(int)
        parts = {
            name: stored[name].astype(np.float64) for name in sorted(stored) if name != "labels"
        }
    edges = np.cumsum([0, *(part.shape[1] for part in parts.values())])
    views = {name: list(range(edges[t], edges[t + 1])) for t, name in enumerate(parts)}
    rows = np.hstack(list(parts.values()))
    model = KernelMixture(n_populations=10, views=views, random_state=0).fit(rows)
    assert accuracy(label, np.asarray(model.predict(rows))) > 0.92


def test_vanished_features__are_no_matter_of_components():
    empty = Subspaces(
        bases=tuple(np.eye(4) for _ in range(3)),
        singular_values=tuple(np.zeros(4) for _ in range(3)),
    )
    with pytest.raises(
        IdentifiabilityError, match=r"features have vanished.* bandwidth=4"
    ) as caught:
        check_rank(empty, 2)
    assert "n_components" not in str(caught.value)
