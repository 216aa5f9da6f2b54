"""Small groups that the count of components takes for one."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture


def test_two_small_groups__that_were_counted_as_one_are_found() -> None:
    rng = np.random.default_rng(1)
    group = rng.choice(3, 3_000, p=[0.9, 0.06, 0.04])
    means = np.array([[4, 4, 0, 0, 1], [0, 0, 0, 4, 1], [0, 0, 0, 0, 2.0]])
    rows = means[group] + 0.6 * rng.normal(size=(len(group), 5))
    model = KernelMixture(random_state=0).fit(rows)
    assert adjusted_rand_score(group, model.predict(rows)) > 0.999
    assert model.diagnostics_["dependence_within_components"] < 0.085
    assert any("within one of them" in note for note in model.diagnostics_["notes"])
