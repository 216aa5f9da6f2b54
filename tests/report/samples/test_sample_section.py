import numpy as np

from bigtensor.abundance.comparison_summary import summary_rows
from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_table import sample_table
from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.report.samples.sample_section import SampleGroups, sample_section


def study():
    """Return weights, level and table of a study in which the last of three components grows."""
    shares = np.array([0.5, 0.3, 0.2])
    grown = np.array([0.4, 0.25, 0.35])
    rng = np.random.default_rng(0)
    counts = [rng.multinomial(5000, grown if place % 2 else shares) for place in range(8)]
    names = [f"s{place}" for place in range(8)]
    weights = weights_of_counts(counts, names, ["0", "1", "2"]).to_dataset()
    weights = weights.rename(population="component").assign_attrs(method="counts")
    level = LabelLevel("component", shares, shares, names=("0", "1", "2"))
    conditions = {"s": names, "arm": [*"abababab"], "donor": [*"uuvvwwxx"], "dose": [0, 5] * 4}
    return weights, level, sample_table(conditions)


def comparison_blocks(weights, level, groups):
    """Return the blocks of the comparison."""
    blocks = sample_section(weights, level, groups).blocks
    (comparison,) = [block for block in blocks if getattr(block, "title", "").startswith("Change")]
    return comparison.blocks


def test_sample_section__shows_what_compare_prints():
    weights, level, table = study()
    words, shown, dots, _ = comparison_blocks(weights, level, SampleGroups(table, "arm"))
    assert "Changed: 3 of 3 components" in words.text
    assert "hares sum to one" in words.text
    head, *rows = summary_rows(differential_abundance(weights, table, "arm"))
    assert shown.header == head
    assert [tuple(cell.text for cell in row) for row in shown.rows] == rows
    assert [row[0].colour for row in shown.rows] == [int(row[0]) for row in rows]
    assert "median" in dots.text
    adjusted = SampleGroups(table, "arm", adjust=("donor",))
    assert "not adjusted for donor" in comparison_blocks(weights, level, adjusted)[2].text


def test_sample_section__compares_with_the_reference():
    weights, level, table = study()
    groups = SampleGroups(table, "dose", reference="5")
    _, shown, *_ = comparison_blocks(weights, level, groups)
    assert "odds ratio 0 against 5" in shown.header
    _, shown, dots, _ = comparison_blocks(weights, level, SampleGroups(table, "dose"))
    assert "odds ratio per unit of dose" in shown.header
    assert "median" not in dots.text


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
