"""Summary of a comparison."""

import numpy as np
import pytest

from bigtensor.abundance.comparison_summary import (
    adjustment_in_words,
    cautions,
    changed_populations,
    star_legend,
    summary_rows,
)
from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_weights import weights_of_counts


def compared(arms, factor, **options):
    """Compare samples, in which the last population of three grows by group."""
    shares = np.tile([0.7, 0.28, 0.02], (len(arms), 1))
    shares *= np.exp(0.1 * np.random.default_rng(0).standard_normal(shares.shape))
    shares[:, 2] *= factor ** np.array([ord(arm) - ord("a") for arm in arms])
    counts = np.rint(20_000 * shares / shares.sum(axis=1, keepdims=True))
    names = [f"s{number}" for number in range(len(arms))]
    weights = weights_of_counts(counts, names, ["A", "B", "C"])
    samples = {"s": names, "arm": [*arms], "age": np.linspace(30, 60, len(arms)) ** 1.5}
    return differential_abundance(weights, samples, "arm", **options)


@pytest.mark.parametrize(("factor", "changed"), [(1, []), (5, ["C", "A"])])
def test_cautions__of_changes_say_that_shares_sum_to_one(factor, changed):
    """A falls because C grows."""
    result = compared("aaaabbbb", factor)
    assert changed_populations(result) == changed
    assert ["sum to one" in text for text in cautions(result)] == [True] * bool(changed)


def test_cautions__name_samples_that_add_nothing():
    result = compared("aaaabbbb", 1).assign_attrs(
        samples_uninformative=["s3"], adjusted_for=["batch"]
    )
    (caution,) = cautions(result)
    assert "s3 where batch is held fixed" in caution


def test_summary_rows__have_odds_ratios_and_intervals_the_surest_first():
    head, first, *others = summary_rows(compared("aaaabbbb", 5))
    assert head[:4] == ("population", "share in a", "share in b", "odds ratio b against a")
    assert first[0] == "C"
    assert 4 < float(first[3].split(" (")[0]) < 7
    assert " to " in first[3]
    assert first[-1] == "< 0.0001"
    assert len(others) == 2


def test_summary_rows__of_narrow_tables_have_stars_in_place_of_intervals():
    result = compared("aaaabbbbcccc", 5)
    narrow, whole = ([*summary_rows(result, most_groups=most)] for most in (2, None))
    assert [len(head) for head in (narrow[0], whole[0])] == [5, 8]
    assert narrow[1][1].endswith("*")
    assert "(" not in narrow[1][1]
    assert whole[1][4].endswith(")*")
    assert len(star_legend(result)) == 1


def test_adjustment__names_numbers():
    assert adjustment_in_words(compared("aaaabbbb", 1, adjust="age")) == "age as a number"
