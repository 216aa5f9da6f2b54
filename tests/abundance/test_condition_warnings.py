"""Warnings of columns that probably do not say what is meant."""

import warnings

import numpy as np
import pytest

from bigtensor.abundance import between_samples
from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.errors import ConditioningWarning


def study(count, **conditions):
    names = [f"s{number}" for number in range(count)]
    counts = np.random.default_rng(0).multinomial(5000, [0.5, 0.3, 0.2], size=count)
    return weights_of_counts(counts, names, ["A", "B", "C"]), {"sample": names, **conditions}


def warned(weights, samples, by, **options):
    """Return the result and the texts of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = differential_abundance(weights, samples, by, **options)
    assert {entry.category for entry in caught} <= {ConditioningWarning}
    return result, [str(entry.message) for entry in caught]


@pytest.mark.parametrize("other", ["Drug", "DRUG"])
def test_groups__that_differ_in_case_or_spaces_are_warned_of(other):
    weights, samples = study(8, arm=["drug", "drug", other, other, *["none"] * 4])
    result, texts = warned(weights, samples, "arm")
    assert len(texts) == 1
    assert f"'{other}'" in texts[0]
    assert "'drug'" in texts[0]
    assert result.sizes["group"] == 3
    samples |= {"patient": ["P1", "p1", "P2", "P2"] * 2, "arm": [*"aaaabbbb"]}
    assert "'P1' and 'p1'" in warned(weights, samples, "arm", adjust="patient")[1][0]


@pytest.mark.parametrize(
    ("arms", "options", "words"),
    [
        ([*"xxxxxxxy"], {}, ["'y' (s7)"]),
        ([*"xxy"], {}, ["'y' (s2)"]),
        ([*"xxx", "unknown", *"yyyy"], {}, ["'unknown' (s3)", "reference"]),
        ([*"xxx", "unknown", *"yyyy"], {"reference": "unknown"}, ["'unknown' (s3)"]),
        ([*"xxxayyyb"], {}, ["'a' (s3), 'b' (s7)", "reference"]),
    ],
)
def test_groups__of_one_sample_are_warned_of(arms, options, words):
    weights, samples = study(len(arms), arm=arms)
    (text,) = warned(weights, samples, "arm", **options)[1]
    assert all(word in text for word in words)
    assert ("another reference" in text) == ("reference" in words)


@pytest.mark.filterwarnings("error::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(
    ("by", "options"),
    [("arm", {}), ("two", {}), ("age", {}), ("share", {}), ("arm", {"adjust": "patient"})],
)
def test_conditions__that_are_as_meant_are_not_warned_of(by, options):
    weights, samples = study(
        8,
        arm=[*"aabbaabb"],
        two=[1, 2] * 4,
        age=[30, 41, 52, 29, 33, 60, 45, 50],
        share=[0.5, 1, 1.5, 2] * 2,
        patient=[*"uvuvwxwy"],
    )
    differential_abundance(weights, samples, by, **options)


@pytest.mark.parametrize("codes", [[1, 2, 3, 4] * 2, [0, 0, 10, 10, 100, 100]])
def test_numbers__that_look_like_names_are_warned_of_if_they_are_adjusted_for(codes):
    weights, samples = study(len(codes), batch=codes, arm=[*"aabbabab"][: len(codes)])
    assert "groups" in warned(weights, samples, "arm", adjust="batch")[1][0]
    assert not warned(weights, samples, "arm", adjust="batch", groups="batch")[1]
    assert not warned(weights, samples, "batch")[1]


def test_groups__of_one_sample_that_says_something_are_warned_of():
    """The other sample of group c is the only one of its batch."""
    weights, samples = study(9, arm=[*"aaabbbbcc"], batch=[*"xxyxyyyxz"])
    assert "'c' (s7)" in warned(weights, samples, "arm", adjust="batch")[1][0]


def test_samples__of_a_batch_of_their_own_add_nothing(monkeypatch):
    # they say a little of the shares of populations, on which the prior of deviations may depend
    monkeypatch.setattr(between_samples, "_RARITY_POWERS", np.array([0.0]))
    weights, samples = study(8, arm=[*"aaaabbbb"], batch=[*"xxyyxxyz"])
    result, texts = warned(weights, samples, "arm", adjust="batch")
    assert result.attrs["samples_uninformative"] == ["s7"]
    assert not texts
    samples["arm"] = [*samples["arm"][:7], ""]
    without = differential_abundance(weights, samples, "arm", adjust="batch")
    assert without.attrs["samples_uninformative"] == []
    for name in ("log_odds_ratio", "p_value"):
        np.testing.assert_allclose(result[name], without[name], rtol=1e-4)
