import numpy as np
import pytest
import xarray as xr
from scipy import stats

import bigtensor
from bigtensor.abundance import moderated_tests
from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.sample_weights import SampleWeights, sample_weights, weights_of_counts
from bigtensor.errors import ConditioningWarning, DataError, MissingValueWarning, ParameterError

BASE = np.array([0.5, 0.3, 0.15, 0.04, 0.01])


def drawn(rng, groups, effect=0.0, deviation=0.3, cells=20_000):
    """Draw counts of five populations, the last of which changes by group."""
    logits = np.log(BASE) + deviation * rng.standard_normal((len(groups), len(BASE)))
    logits[:, -1] += effect * groups
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return rng.multinomial(cells, shares)


def tables(counts, **conditions):
    names = [f"s{place}" for place in range(len(counts))]
    weights = weights_of_counts(counts, names, [f"p{place}" for place in range(counts.shape[1])])
    return weights, {"sample": names, **conditions}


def test_differential_abundance__is_public():
    assert bigtensor.differential_abundance is differential_abundance


def test_differential_abundance__finds_the_population_that_changes():
    groups = np.repeat([0, 1], 5)
    counts = drawn(np.random.default_rng(0), groups, effect=2.0)
    weights, samples = tables(counts, arm=["b" if group else "a" for group in groups])
    result = differential_abundance(weights, samples, "arm")
    rate = result["false_discovery_rate"]
    assert rate[-1] < 0.01
    assert (rate[:-1] > 0.1).all()
    assert result["log_odds_ratio"][-1, 0] == pytest.approx(2.0, abs=0.6)
    assert result["contrast"].values.tolist() == ["b against a"]
    assert result["group_weight"].sel(group="a").sum() == pytest.approx(1)
    assert result.attrs["samples_compared"] == 10


def test_differential_abundance__of_one_population_without_sampling_error_is_a_t_test():
    """Two populations that make up a sample are one measurement."""
    rng = np.random.default_rng(1)
    logits = 0.5 * rng.standard_normal(9)
    share = 1 / (1 + np.exp(-logits))
    table = xr.Dataset(
        {
            "weight": (("s", "p"), np.column_stack([share, 1 - share])),
            "standard_error": (("s", "p"), np.full((9, 2), 1e-9)),
            "rows": ("s", np.full(9, 10**9)),
        },
        {"s": list("abcdefghi")},
    )
    samples = {"s": list("abcdefghi"), "arm": list("xxxxyyyyy")}
    result = differential_abundance(table, samples, "arm")
    reference = stats.ttest_ind(logits[4:], logits[:4])
    assert result["p_value"].values == pytest.approx(reference.pvalue, rel=0.05)
    assert result["log_odds_ratio"][0, 0] == pytest.approx(logits[4:].mean() - logits[:4].mean())
    assert result["degrees_of_freedom"].values == pytest.approx(7, rel=0.1)


def test_differential_abundance__of_a_number_is_a_slope_in_its_unit():
    dose = np.linspace(0, 4, 10)
    counts = drawn(np.random.default_rng(2), dose, effect=0.5, deviation=0.05)
    weights, samples = tables(counts, dose=dose)
    slope = differential_abundance(weights, samples, "dose")
    assert slope["contrast"].values.tolist() == ["per unit of dose"]
    assert slope["log_odds_ratio"][-1, 0] == pytest.approx(0.5, abs=0.05)
    assert "group_weight" not in slope
    samples["dose"] = 1000 * dose
    other = differential_abundance(weights, samples, "dose")
    np.testing.assert_allclose(other["p_value"], slope["p_value"], rtol=1e-6)
    np.testing.assert_allclose(1000 * other["log_odds_ratio"], slope["log_odds_ratio"], rtol=1e-6)


def test_differential_abundance__of_three_groups_of_numbers_names_contrasts_in_order():
    groups = np.repeat([0, 1, 2], 4)
    counts = drawn(np.random.default_rng(3), groups, effect=1.0)
    weights, samples = tables(counts, dose=np.array([0.5, 10, 2])[groups])
    result = differential_abundance(weights, samples, "dose", groups=["dose"])
    assert result["contrast"].values.tolist() == ["2 against 0.5", "10 against 0.5"]
    assert result["p_value"][-1] < 0.01
    other = differential_abundance(weights, samples, "dose", reference="2")
    assert other["contrast"].values.tolist() == ["0.5 against 2", "10 against 2"]
    np.testing.assert_allclose(other["p_value"], result["p_value"], rtol=1e-5)


def test_differential_abundance__adjusts_for_pairs():
    """Patients differ much more than treatments change them."""
    rng = np.random.default_rng(4)
    treated, patient = np.tile([0, 1], 6), np.repeat(np.arange(6), 2)
    logits = np.log(BASE) + rng.standard_normal((6, 5))[patient]
    logits[:, 3] += 0.7 * treated
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    weights, samples = tables(
        rng.multinomial(20_000, shares), treated=treated, patient=[f"no{p}" for p in patient]
    )
    alone = differential_abundance(weights, samples, "treated")
    paired = differential_abundance(weights, samples, "treated", adjust=["patient"])
    assert alone["p_value"][3] > 0.05
    assert paired["false_discovery_rate"][3] < 0.001
    assert paired.attrs["adjusted_for"] == ["patient"]


def test_differential_abundance__is_the_same_in_any_order_of_samples_and_populations():
    groups = np.repeat([0, 1], 4)
    counts = drawn(np.random.default_rng(5), groups, effect=1.0)
    weights, samples = tables(counts, arm=groups)
    result = differential_abundance(weights, samples, "arm")
    order = np.random.default_rng(6).permutation(8)
    other = differential_abundance(
        weights.to_dataset().isel(sample_id=order, population=[4, 2, 0, 1, 3]), samples, "arm"
    ).sel(population=result["population"])
    np.testing.assert_allclose(other["p_value"], result["p_value"], rtol=1e-6)


def test_differential_abundance__of_zeros_is_finite_and_finds_a_population_of_one_group():
    groups = np.repeat([0, 1], 4)
    counts = drawn(np.random.default_rng(7), groups)
    counts = np.column_stack([counts, 40 * groups, np.zeros(8, int)])
    weights, samples = tables(counts, arm=groups)
    result = differential_abundance(weights, samples, "arm", groups=["arm"])
    assert np.isnan(result["p_value"][6])
    assert np.isfinite(result["log_odds_ratio"][:6]).all()
    assert result["false_discovery_rate"][5] < 0.001
    assert result["log_odds_ratio"][5, 0] > 2
    assert result["upper"][5, 0] == np.inf
    assert np.exp(result["lower"][5, 0]) > 10
    assert np.isfinite(result[["lower", "upper"]].isel(population=slice(5)).to_array()).all()
    assert result["group_samples"].values.tolist() == [4, 4]


def test_differential_abundance__of_groups_without_a_cell_has_open_intervals():
    """Of four groups, the second and the third lack a population, and the fourth has no other."""
    rare = [20, 25, 22, 0, 0, 0, 0, 0, 0, 500, 500, 500]
    weights, samples = tables(
        np.array([[count, 500 - count] for count in rare]), arm=[*"aaabbbcccddd"]
    )
    result = differential_abundance(weights, samples, "arm").isel(population=0)
    assert result["lower"].values[:2].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(result["upper"][:2]).all()
    assert np.isfinite(result["lower"][2])
    assert result["upper"][2] == np.inf
    other = differential_abundance(weights, samples, "arm", reference="b").isel(population=0)
    assert (other["upper"] == np.inf).all()
    assert np.isinf(other["lower"].sel(contrast="c against b"))
    assert other["contrast_p_value"].sel(contrast="c against b") > 0.9


@pytest.mark.parametrize("sizes", [(500, 20_000), (20_000, 500), (5000, 5000)])
@pytest.mark.quick_cases("sizes1")
def test_differential_abundance__of_rare_populations_takes_files_of_any_size(sizes):
    """All samples are alike; three cells in 100,000 are of the rare population."""
    rows = np.repeat(sizes, 10)
    called = 0
    for seed in range(20):
        counts = np.random.default_rng(seed).multinomial(rows, [0.00003, 0.6, 0.39997])
        weights, samples = tables(counts, arm=[*"aaaaaaaaaabbbbbbbbbb"])
        called += int(differential_abundance(weights, samples, "arm")["p_value"][0] < 0.05)
    assert called <= 3


@pytest.mark.parametrize("cells", [(0, 2), (1, 2)])
def test_differential_abundance__of_one_cell_in_small_files_is_no_change(cells):
    """Of ten files of 500 cells, and ten of 20,000."""
    few, many = (
        np.array([count, 0.6 * rows, 0.4 * rows - count], int)
        for count, rows in ((0, 500), (cells[1], 20_000))
    )
    counts = np.array([few] * 10 + [many] * 10)
    counts[0, 0] = cells[0]
    weights, samples = tables(counts, arm=[*"aaaaaaaaaabbbbbbbbbb"])
    result = differential_abundance(weights, samples, "arm")
    assert result["p_value"][0] > 0.2
    assert result["lower"][0, 0] < 0 < result["upper"][0, 0]


@pytest.mark.parametrize("seed", [18, 44, 89, 100, 119])
@pytest.mark.quick_cases("18", "100")
def test_differential_abundance__ends_where_samples_differ_in_size_and_cells_are_few(
    seed, monkeypatch
):
    """Without damping, or without a largest step, fits jump back and forth between two values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 16))
    rows = np.exp(rng.uniform(np.log(8), np.log(50_000), n)).astype(int)
    second = np.arange(n) >= n // 2
    counts = []
    for share in np.exp(rng.uniform(np.log(1e-6), np.log(0.02), 6)):
        between = rng.normal(size=n) * rng.choice([0.1, 1])
        logs = np.log(share) + between + rng.choice([0, 2, -5]) * second
        counts.append(rng.binomial(rows, np.clip(np.exp(logs), 0, 0.1)))
    others = np.maximum(rows - np.sum(counts, axis=0), 1)
    weights, samples = tables(
        np.column_stack([*counts, others]), arm=["b" if one else "a" for one in second]
    )
    result = differential_abundance(weights, samples, "arm")
    monkeypatch.setattr(moderated_tests, "_MOST_ITERATIONS", 51)
    longer = differential_abundance(weights, samples, "arm")
    np.testing.assert_allclose(result["log_odds_ratio"], longer["log_odds_ratio"], atol=0.01)


def test_differential_abundance__trusts_uncertain_weights_less():
    groups = np.repeat([0, 1], 4)
    counts = drawn(np.random.default_rng(8), groups, effect=1.0)
    weights, samples = tables(counts, arm=groups)
    table = weights.to_dataset()
    sure = differential_abundance(table, samples, "arm")
    vague = differential_abundance(
        table.assign(standard_error=table["standard_error"] + 0.01), samples, "arm"
    )
    assert vague["p_value"][-1] > 3 * sure["p_value"][-1]


def test_differential_abundance__leaves_out_samples_without_a_value():
    groups = np.repeat([0, 1], 4)
    weights, samples = tables(drawn(np.random.default_rng(9), groups), arm=[*"aaaabbb", ""])
    result = differential_abundance(weights, samples, "arm")
    assert result.attrs["samples_compared"] == 7
    assert result.attrs["samples_without"] == ["s7"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"by": "none"}, DataError),
        ({"by": "same"}, DataError),
        ({"by": "arm", "adjust": ["twin"]}, DataError),
        ({"by": "own"}, DataError),
        ({"by": "arm", "adjust": ["arm"]}, ParameterError),
        ({"by": "arm", "reference": "z"}, ParameterError),
        ({"by": "arm", "groups": ["own"]}, ParameterError),
    ],
)
def test_differential_abundance__refuses_what_cannot_be_compared(options, error):
    counts = drawn(np.random.default_rng(10), np.zeros(6))
    weights, samples = tables(
        counts, arm=[*"aaabbb"], twin=[*"xxxyyy"], same=["a"] * 6, own=[*"abcdef"]
    )
    with pytest.raises(error):
        differential_abundance(weights, samples, **options)


def test_differential_abundance__refuses_a_single_population():
    weights, samples = tables(np.full((4, 1), 10), arm=[*"aabb"])
    with pytest.raises(DataError, match="one population"):
        differential_abundance(weights, samples, "arm")


def test_differential_abundance__of_activation_gates_finds_the_activated_cells(shared_data):
    folder = shared_data / "activation"
    with np.load(folder / "labels.npz", allow_pickle=False) as stored:
        gates = [str(name) for name in stored["label_names"]]
        files = [f"Activation_{number}" for number in range(1, 13)]
        counts = [np.bincount(stored[name], minlength=len(gates)) for name in files]
    weights = weights_of_counts(counts, files, gates)
    result = differential_abundance(
        weights, folder / "samples.csv", "ova_concentration", groups=["ova_concentration"]
    )
    contrast = result.sel(contrast="0.5 against 0")
    changed = contrast["contrast_false_discovery_rate"] < 0.05
    assert result["population"].values[changed].tolist() == ["CD4 T CD69+", "CD8 T CD69+"]
    assert (contrast["log_odds_ratio"].values[changed] > 2).all()
    slope = differential_abundance(weights, folder / "samples.csv", "ova_concentration")
    changed = slope["false_discovery_rate"] < 0.05
    assert slope["population"].values[changed].tolist() == ["CD4 T CD69+", "CD8 T CD69+"]


@pytest.mark.slow
def test_differential_abundance__of_a_model_takes_its_weights():
    cells = bigtensor.simulate.cytometry(3000, 3, samples=4, random_state=1)
    model = bigtensor.KernelMixture(3, random_state=0).fit(cells)
    weights = model.weights_by(cells)
    names = sample_weights(weights).samples
    samples = {"sample": list(names), "arm": [*"xxyy"]}
    result = bigtensor.differential_abundance(weights, samples, "arm")
    assert result["p_value"].dims == ("component",)
    assert (result["p_value"] > 0).all()


def small_study():
    """Return weights of three populations in six samples, with their names."""
    names = [f"s{number}" for number in range(6)]
    counts = np.random.default_rng(0).multinomial(10_000, [0.5, 0.3, 0.2], size=6)
    return weights_of_counts(counts, names, ["A", "B", "C"]), names


def test_numbers__written_in_two_ways_are_one_value():
    weights, names = small_study()
    doses = ["0.5", "0.5", "0.5", "1", "1.0", "1"]

    result = differential_abundance(
        weights, {"s": names, "d": doses}, "d", groups=["d"], reference="1.00"
    )
    assert list(result["group"].to_numpy()) == ["1", "0.5"]
    for other in ("1.0", "1E0"):
        with pytest.raises(DataError, match="have the same d"):
            differential_abundance(weights, {"s": names, "d": ["1", other] * 3}, "d")


@pytest.mark.parametrize(
    "patients", [("1.1", "1.10"), ("01", "1"), ("20240000000000001", "20240000000000002")]
)
def test_groups__of_other_texts_are_other_groups(patients):
    weights, names = small_study()
    table = {"s": names, "patient": [*patients, "3"] * 2}

    result = differential_abundance(weights, table, "patient", groups=["patient"])

    assert {*patients} < {*result["group"].to_numpy().tolist()}


def test_names__with_underscores_are_no_numbers():
    weights, names = small_study()
    table = {"s": names, "g": ["1_1", "1_1", "1_2", "1_2", "2_1", "2_1"]}

    result = differential_abundance(weights, table, "g")

    assert list(result["contrast"].to_numpy()) == ["1_2 against 1_1", "2_1 against 1_1"]


def test_adjusted_numbers__that_look_like_patients_are_warned_of():
    weights, names = small_study()
    table = {"s": names, "d": ["no"] * 3 + ["yes"] * 3, "patient": [1, 2, 3, 1, 2, 3]}

    with pytest.warns(ConditioningWarning, match="patient is adjusted for as a number"):
        as_number = differential_abundance(weights, table, "d", adjust=["patient"])
    as_names = differential_abundance(weights, table, "d", adjust=["patient"], groups=["patient"])

    assert as_number.attrs["adjusted_as_numbers"] == ["patient"]
    assert as_names.attrs["adjusted_as_numbers"] == []


@pytest.mark.parametrize(
    "donors",
    [
        [1, 1, 1, 2, 2, 3, 3, 3, 3, 3],
        [1, 2, 3, 4, 5, 1, 2, 3, 4, 6],
        [101, 205, 205, 205, 207, 101, 207, 101, 207, 207],
    ],
)
def test_adjusted_numbers__that_are_repeated_unequally_are_warned_of(donors):
    weights, samples = tables(drawn(np.random.default_rng(0), np.zeros(10)), d=donors)
    samples["arm"] = [*"ababababab"]
    with pytest.warns(ConditioningWarning, match="d is adjusted for as a number"):
        differential_abundance(weights, samples, "arm", adjust="d")


@pytest.mark.filterwarnings("error::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(("patients", "ages"), [(30, (20, 80)), (30, (40, 60)), (100, (40, 60))])
def test_adjusted_numbers__that_are_ages_are_not_warned_of(patients, ages):
    rng = np.random.default_rng(0)
    weights, samples = tables(
        drawn(rng, np.zeros(patients)),
        arm=[*"ab"] * (patients // 2),
        age=rng.integers(*ages, patients),
    )
    differential_abundance(weights, samples, "arm", adjust="age")


@pytest.mark.parametrize(("by", "adjust"), [("age", ()), ("arm", "age")])
def test_numbers__with_one_text_among_them_are_warned_of(by, adjust):
    ages = [40, 40, 50, 50, 60, 60, 70, 70, ">80", ">80"]
    weights, samples = tables(
        drawn(np.random.default_rng(0), np.zeros(10)), arm=[*"ababababab"], age=ages
    )
    with pytest.warns(ConditioningWarning, match=r"8 of 10.*'>80' in s8"):
        differential_abundance(weights, samples, by, adjust=adjust)


@pytest.mark.filterwarnings("error::bigtensor.errors.ConditioningWarning")
def test_numbers__with_one_text_among_them_are_groups_on_request():
    lots = [1, 1, 2, 2, 3, 3, "3b", "3b"]
    weights, samples = tables(drawn(np.random.default_rng(0), np.zeros(8)), lot=lots)
    result = differential_abundance(weights, samples, "lot", groups="lot")
    assert result["group"].values.tolist() == ["1", "2", "3", "3b"]


@pytest.mark.parametrize("missing", ["n/a", "N/A", "NaN", "#N/A"])
def test_numbers__with_a_missing_value_stay_numbers(missing):
    weights, samples = tables(
        drawn(np.random.default_rng(0), np.zeros(6)), age=["40", "50", missing, "60", "70", "80"]
    )
    with pytest.warns(MissingValueWarning, match="s2"):
        result = differential_abundance(weights, samples, "age")
    assert result["contrast"].values.tolist() == ["per unit of age"]
    assert result.attrs["samples_without"] == ["s2"]


def test_groups__with_a_name_of_missing_values_are_warned_of():
    weights, samples = tables(drawn(np.random.default_rng(0), np.zeros(6)), arm=[*"xxyy", "NA", ""])
    with pytest.warns(MissingValueWarning, match="'NA' in s4,") as caught:
        differential_abundance(weights, samples, "arm")
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("counts", "samples", "populations", "words"),
    [
        ([[1, 2], [3, 4]], ["a", "a"], ["x", "y"], "two samples"),
        ([[1, 2], [3, 4]], ["a", "b"], ["x", "x"], "two populations"),
        ([[1, 2], [3, np.nan]], ["a", "b"], ["x", "y"], "missing"),
        ([[1, 2], [3, np.inf]], ["a", "b"], ["x", "y"], "infinite"),
        ([[0.5, 0.5], [0.4, 0.6]], ["a", "b"], ["x", "y"], "numbers of cells"),
        ([[50.5, 49.5], [40, 60]], ["a", "b"], ["x", "y"], "numbers of cells"),
    ],
)
def test_counts__that_are_no_shares_are_refused(counts, samples, populations, words):
    with pytest.raises(DataError, match=words):
        weights_of_counts(counts, samples, populations)


def test_counts__that_look_like_percentages_are_warned_of():
    with pytest.warns(ConditioningWarning, match="percentages"):
        weights_of_counts([[40, 60], [30, 70]], ["a", "b"], ["x", "y"])


def test_conditions__are_named_as_in_notebooks():
    counts = drawn(np.random.default_rng(3), np.repeat([0, 1], 4))
    dose, donor = [0, 0, 0, 0, 5, 5, 5, 5], list("abcdabcd")
    weights, samples = tables(counts, dose=dose, donor=donor, empty=[None] * 8)
    expected = differential_abundance(weights, samples, "dose", adjust=["donor"], reference="0")
    for reference in (0, 0.0, np.int64(0)):
        result = differential_abundance(
            weights, samples, "dose", adjust="donor", reference=reference
        )
        xr.testing.assert_identical(result, expected)
    with pytest.raises(ParameterError, match="by"):
        differential_abundance(weights, samples, ["dose"])
    with pytest.raises(DataError, match="no sample has a value of empty"):
        differential_abundance(weights, samples, "empty")


@pytest.mark.parametrize("ratio", [1.0, 1.2, 2.0])
@pytest.mark.parametrize("smallest", [0.0, 1e-6])
def test_population_that_a_group_lacks__differs_with_standard_errors_of_soft_labels(
    ratio, smallest
):
    names = [f"s{number}" for number in range(8)]
    shares = np.array([*[smallest] * 4, 0.0046, 0.005, 0.0052, 0.0055])
    weight = np.column_stack([shares, 1 - shares])
    error = np.sqrt(ratio * weight * (1 - weight) / 20_000)
    if smallest:
        error[:4] = 1e-4
    weights = SampleWeights(tuple(names), ("p", "q"), weight, error, np.full(8, 20_000))
    samples = {"sample": names, "group": ["a"] * 4 + ["b"] * 4}
    result = differential_abundance(weights, samples, "group").sel(population="p")
    assert result["p_value"] < 1e-3
    assert 4 < result["log_odds_ratio"] < 9
    assert result["standard_error"] < 2
