import numpy as np

from bigtensor.abundance.sample_table import sample_table
from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.report.samples.sample_section import SampleGroups, sample_section


def test_sample_section__says_what_was_adjusted_for_and_left_out():
    shares = np.array([0.5, 0.3, 0.2])
    counts = np.random.default_rng(0).multinomial(5000, shares, size=9)
    names = [f"s{place}" for place in range(9)]
    weights = weights_of_counts(counts, names, ["0", "1", "2"]).to_dataset()
    weights = weights.rename(population="component").assign_attrs(method="counts")
    conditions = {
        "s": names,
        "arm": [*"abababab", None],
        "donor": [1, 1, 2, 2, 3, 3, 4, 4, 5],
    }
    level = LabelLevel("component", shares, shares, names=("0", "1", "2"))
    table = sample_table(conditions)
    alone, paired = SampleGroups(table, "arm"), SampleGroups(table, "arm", ("donor",), ("donor",))
    words = [str(sample_section(weights, level, groups).blocks) for groups in (alone, paired)]
    assert "(a: 4, b: 4) without adjustment" in words[0]
    assert "(a: 4, b: 4), adjusted for donor" in words[1]
    assert "value of arm, donor: s8" in words[1]
