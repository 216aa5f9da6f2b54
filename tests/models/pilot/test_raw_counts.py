"""Raw counts are no measurements: models of measurements say so, and say nothing on others."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtensor import GaussianMixture, HiddenMarkovModel, KernelMixture, SpectralOptions
from bigtensor.errors import ConditioningWarning
from bigtensor.models.pilot.raw_counts import FEWEST_FEATURES, warn_of_raw_counts


def genes(rows: int = 400, count: int = 30) -> np.ndarray:
    random = np.random.default_rng(0)
    active = (np.arange(rows)[:, None] + np.arange(count)) % 2
    mean = np.where(active, 1.2, 0.1) * random.uniform(0.5, 1.5, count)
    return random.poisson(mean).astype("float32")


def is_warned(values: np.ndarray) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return warn_of_raw_counts(values, "KernelMixture") is not None


@pytest.mark.parametrize(
    "model", [KernelMixture(2, random_state=0, max_iter=1), GaussianMixture(2, max_iter=1)]
)
def test_fit__of_raw_counts_names_the_model_for_them(model):
    with pytest.warns(ConditioningWarning, match=r"raw counts.*TopicModel"):
        model.fit(genes())
    verdict = model.diagnostics_["verdict"]
    assert not verdict["good"]
    assert "TopicModel" in verdict["sentences"][0]


@pytest.mark.parametrize(
    "model",
    [
        KernelMixture(2, spectral=SpectralOptions(n_landmarks=20, bins=64), random_state=0),
        GaussianMixture(2, random_state=0),
        HiddenMarkovModel(2, emissions="kernel", refine="triples", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_rounds__of_raw_counts_name_the_model_for_them(model):
    counts = genes()
    model.prepare(counts)
    verdict = model.solve(model.accumulate(counts)).diagnostics_["verdict"]
    assert not verdict["good"]
    assert "TopicModel" in verdict["sentences"][0]


def test_warning__is_for_counts_alone():
    counts = genes()
    assert is_warned(counts)
    assert not is_warned(np.log1p(counts))
    assert not is_warned(counts + 3)
    assert not is_warned(counts - 1)
    answers = (counts > 0).astype("float32")
    assert not is_warned(answers)
    # a table of answers in which a few columns are numbers, such as an age
    answers[:, :3] *= 40
    assert not is_warned(answers)
    assert not is_warned(np.zeros_like(counts))
    assert not is_warned(counts[:, : FEWEST_FEATURES - 1])


def test_warning__is_right_on_real_tables(shared_data):
    digits = np.load(shared_data / "mfeat.npz")
    assert not any(is_warned(digits[view]) for view in ("fac", "pix", "kar"))
    assert not is_warned(np.load(shared_data / "splice.npz")["X"])
    assert not is_warned(np.load(shared_data / "pbmc_cytof.npz")["X"][:5000])
    words = np.load(shared_data / "ap_news.npz")
    parts = (words["data"], words["indices"], words["indptr"])
    assert is_warned(csr_array(parts, shape=tuple(words["shape"]))[:300].toarray())
