"""Number of states: simulated numbers, real sequences, and few rows."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from bigtensor import HiddenMarkovModel, load, merge, simulate
from bigtensor.cli import main
from bigtensor.errors import ParameterError
from tests.parameters import first_quick

SHARED = Path("../shared/data")


def chosen(data: xr.Dataset, **options) -> HiddenMarkovModel:
    return HiddenMarkovModel("auto", refine="triples", random_state=0, **options).fit(data)


@pytest.mark.slow
@pytest.mark.parametrize(("n_components", "sequences"), [(1, 30), (2, 1), (3, 60)])
def test_number_of_states__is_that_of_the_simulation(n_components: int, sequences: int) -> None:
    data = simulate.hidden_markov(60_000, n_components, 8, sequences, stay=0.6, random_state=1)
    model = chosen(data)
    assert len(model.occupancy_) == model.diagnostics_["n_components"] == n_components
    told = model.diagnostics_["state_choice"]
    assert told["folds"] == 5
    assert told["criterion"].startswith("fewest states within 1.5 ")
    scores = [told["held_out_log_likelihood"][str(k + 1)] for k in range(n_components)]
    assert (np.diff(scores) > 0).all()
    # one pass over the rows serves every number
    assert [entry["name"] for entry in model.diagnostics_["passes"]] == ["triples"]
    words = dict(model.description.outcome(model))["states"]
    assert words.startswith(f"{n_components}, chosen from 1 to ")


@pytest.mark.slow
def test_the_fit__is_that_of_the_number(tmp_path: Path) -> None:
    data = simulate.hidden_markov(60_000, 3, 8, sequences=60, stay=0.6, random_state=1)
    model = HiddenMarkovModel("auto", max_iter=2, random_state=0).fit(data)
    given = HiddenMarkovModel(3, max_iter=2, random_state=0).fit(data)
    np.testing.assert_allclose(model.transition_, given.transition_, rtol=1e-9)
    np.testing.assert_allclose(model.emission_, given.emission_, rtol=1e-9)
    np.testing.assert_array_equal(
        load(model.save(tmp_path / "m.zarr")).predict(data), model.predict(data)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("rows", [60, 300])
def test_few_rows__give_few_states(rows: int) -> None:
    numbers = [
        len(chosen(simulate.hidden_markov(rows, 2, 8, random_state=seed)).occupancy_)
        for seed in range(4)
    ]
    assert max(numbers) <= 3


def test_hardly_any_row__is_one_state_with_a_reason() -> None:
    data = simulate.hidden_markov(40, 2, 4, random_state=0)
    model = HiddenMarkovModel("auto", random_state=0).fit(data)
    assert len(model.occupancy_) == 1
    words = dict(model.description.outcome(model))["states"]
    assert words.startswith("1: 38 complete triples are too few")


@pytest.mark.slow  # every number of states is fitted
def test_missing_steps__hide_windows_from_the_choice() -> None:
    data = simulate.hidden_markov(20_000, 2, 6, 10, stay=0.6, missing=0.1, random_state=1)
    assert len(chosen(data, missing="marginalise").occupancy_) == 2


@pytest.mark.slow
def test_any_chunking__chooses_the_same() -> None:
    data = simulate.hidden_markov(20_000, 2, 6, 7, stay=0.6, random_state=1)
    expected = chosen(data).diagnostics_["state_choice"]["held_out_log_likelihood"]
    found = chosen(data.chunk(sample=777)).diagnostics_["state_choice"]["held_out_log_likelihood"]
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_sites__choose_together() -> None:
    data = simulate.hidden_markov(40_000, 3, 8, sequences=40, stay=0.6, random_state=1)
    parts = [data.isel(sample=slice(0, 20_000)), data.isel(sample=slice(20_000, None))]
    model = HiddenMarkovModel("auto", random_state=0).prepare(parts[0], rows=40_000)
    model.solve(merge([model.accumulate(part) for part in parts]))
    assert len(model.occupancy_) == 3


def test_n_components__is_a_number_or_auto() -> None:
    data = simulate.hidden_markov(500, 2, 4, random_state=0)
    with pytest.raises(ParameterError, match="n_components is 'best'"):
        HiddenMarkovModel("best").fit(data)


@pytest.mark.slow
def test_command_line__says_the_number(tmp_path: Path) -> None:
    data = tmp_path / "steps.zarr"
    simulate.write_hidden_markov(data, 60_000, 3, 8, sequences=60, stay=0.6, random_state=1)
    arguments = ["fit", data, "--model", "hidden-markov", "--components", "auto"]
    out = ["--refine", "triples", "--out", tmp_path / "m.zarr"]
    done = CliRunner().invoke(main, [*map(str, [*arguments, *out])])
    assert done.exit_code == 0, done.output
    assert "3, chosen from 1 to 5: fewest states" in " ".join(done.output.split())


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "splice.npz").exists(), reason="splice.npz is not here")
def test_splice__has_a_moderate_number_of_states() -> None:
    stored = np.load(SHARED / "splice.npz")
    codes = stored["X"][(stored["X"] < 4).all(axis=1)].astype(np.int8)
    data = xr.Dataset(
        {
            "X": (
                ("sample", "feature"),
                codes.reshape(-1, 1),
                {"categories": {"letter": [*"ACGT"]}},
            ),
            "sequence": ("sample", np.repeat(np.arange(len(codes)), 60)),
        },
        {"feature": ["letter"]},
    )
    assert 2 <= len(chosen(data).occupancy_) <= 4


@pytest.mark.parametrize("seed", first_quick([11, 13, 15]))
@pytest.mark.parametrize("emissions", ["gaussian", "poisson"])
@pytest.mark.quick_cases("gaussian-11")
def test_few_independent_rows__are_one_state(emissions: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.poisson(5.0, (150, 2)) if emissions == "poisson" else rng.normal(size=(150, 2))
    model = HiddenMarkovModel("auto", emissions=emissions, random_state=0).fit(rows)
    assert len(model.occupancy_) == 1


def regimes(rows: int, seed: int) -> np.ndarray:
    """Draw a series of two persistent states, which differ in mean and variance."""
    rng = np.random.default_rng(seed)
    leaves = rng.random(rows) < 0.04
    state = leaves.cumsum() % 2
    return (rng.normal(size=rows) * np.array([0.5, 1.0])[state] + np.array([0.8, -0.4])[state])[
        :, None
    ]


@pytest.mark.parametrize("seed", first_quick([0, 1, 2, 3, 4, 5]))
@pytest.mark.quick_cases("0")
def test_one_short_series__shows_its_two_regimes(seed: int) -> None:
    model = HiddenMarkovModel("auto", emissions="gaussian", random_state=0)
    rows = regimes(300, seed)
    model.fit(rows)
    assert len(model.occupancy_) == 2
    assert model.diagnostics_["verdict"]["good"]
    choice = model.diagnostics_["state_choice"]
    assert choice["tried"] == len(choice["bic"]) == 4
    assert choice["gain"]["2"] > choice["gain"]["1"] == 0
    one = HiddenMarkovModel(1, emissions="gaussian", random_state=0).fit(rows)
    expected = [one.bic(rows), model.bic(rows)]
    assert [choice["bic"][number] for number in ("1", "2")] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("law", first_quick(["gamma", "t"]))
@pytest.mark.quick_cases("gamma")
def test_rows_without_order__are_one_state_though_bic_prefers_more(law: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.gamma(2, size=(300, 1)) if law == "gamma" else rng.standard_t(5, size=(2000, 1))
    model = HiddenMarkovModel("auto", emissions="gaussian", random_state=0).fit(rows)
    assert len(model.occupancy_) == 1
    verdict = model.diagnostics_["verdict"]
    assert verdict["good"]
    (note,) = [sentence for sentence in verdict["sentences"] if "n_components" in sentence]
    assert "bic prefers 2 states" in note


def test_few_rows_of_measurements__are_one_state_with_a_reason() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 1))
    model = HiddenMarkovModel("auto", emissions="gaussian", random_state=0).fit(rows)
    assert len(model.occupancy_) == 1
    words = dict(model.description.outcome(model))["states"]
    assert words.startswith("1: 28 triples of rows are too few")


@pytest.mark.slow  # 5,000 rows, and every number of states
def test_rows_of_many_features__have_no_more_states_than_bic_prefers() -> None:
    rng = np.random.default_rng(0)
    state = ((rng.random(5000) < 0.1) * rng.integers(1, 4, size=5000)).cumsum() % 4
    rows = rng.normal(size=(4, 8))[state] + rng.normal(size=(5000, 8))
    model = HiddenMarkovModel("auto", emissions="gaussian", random_state=0).fit(rows)
    assert len(model.occupancy_) == 4
