import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture, SpectralOptions
from tests.parameters import first_quick


@pytest.mark.parametrize("seed", first_quick(range(4)))
@pytest.mark.parametrize("feature_dtype", ["float32", "float64"])
def test_categories__are_as_good_as_the_truth_in_every_precision(seed, feature_dtype):
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=4000, p=[0.4, 0.3, 0.3])
    shares = 0.1 + 0.7 * np.eye(3)
    codes = [
        (rng.uniform(size=4000)[:, None] > np.cumsum(shares, axis=1)[label]).sum(axis=1)
        for _ in range(3)
    ]
    joint = np.log([0.4, 0.3, 0.3]) + sum(np.log(shares)[code] for code in codes)
    best = adjusted_rand_score(label, joint.argmax(axis=1))
    rows = np.column_stack(codes).astype(float)
    model = KernelMixture(
        3, kernel="delta", spectral=SpectralOptions(feature_dtype=feature_dtype), random_state=0
    )
    assert adjusted_rand_score(label, model.fit_predict(rows)) > best - 0.03
