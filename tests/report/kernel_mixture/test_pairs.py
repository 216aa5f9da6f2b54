import numpy as np

from bigtensor.models.kernel_mixture.report.feature_pairs import CANDIDATES, choose_pairs
from bigtensor.models.kernel_mixture.report.feature_profiles import FeatureProfile


def profile(name, means, sd=1.0):
    means = np.asarray(means, float)
    nothing = np.zeros((0, len(means)))
    return FeatureProfile(name, name, np.zeros(0), nothing, means, np.full(len(means), sd))


def test_choose_pairs__starts_with_the_pair_that_tells_all_components_apart():
    profiles = (
        profile("noise", [0, 0, 0]),
        profile("first", [8, 0, 0]),
        profile("more noise", [0, 0.1, 0]),
        profile("last", [0, 0, 8]),
    )
    chosen = choose_pairs(profiles, np.full(3, 1 / 3), limit=3)
    assert chosen[0] == (1, 3)
    assert len(chosen) == len(set(chosen)) == 3


def test_choose_pairs__covers_components_before_it_repeats_itself():
    # features 0 to 2 tell component 0 from the others, 3 and 4 component 4 from component 3
    profiles = (
        *(profile(f"a{i}", [9, 0, 0, 0, 0]) for i in range(3)),
        *(profile(f"b{i}", [0, 0, 0, 0, 9]) for i in range(2)),
        *(profile(f"c{i}", [0, 9, 0, 0, 0]) for i in range(2)),
    )
    weights = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    seen = {name for pair in choose_pairs(profiles, weights, limit=2) for name in pair}
    assert len(seen & {0, 1, 2}) >= 1
    assert len(seen & {3, 4}) >= 1
    assert len(seen & {5, 6}) >= 1


def test_choose_pairs__bounds_their_number():
    rng = np.random.default_rng(0)
    few = tuple(profile(f"f{i}", rng.normal(size=4)) for i in range(3))
    many = tuple(profile(f"f{i}", rng.normal(size=4)) for i in range(CANDIDATES + 20))
    weights = np.full(4, 0.25)
    assert sorted(choose_pairs(few, weights)) == [(0, 1), (0, 2), (1, 2)]
    assert len(choose_pairs(many, weights)) == 12
    assert choose_pairs(few[:1], weights) == []


def test_choose_pairs__shows_features_of_a_single_component():
    assert choose_pairs((profile("a", [0]), profile("b", [1])), np.ones(1)) == [(0, 1)]
