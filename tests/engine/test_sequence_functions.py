"""Functions of sequences: stores, lazy chunks and workers give what one block gives."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.answers_to_store import evaluate_to_store
from bigtensor.engine.lazy_answers import evaluate_lazily
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import MissingValueError
from bigtensor.statistics.sequences.answers import SequenceAnswers
from tests.statistics.sequences.recursions import Chain, posterior, runs

CHAIN = Chain.drawn(3, 5, np.random.default_rng(4))
LENGTHS = [1, 40_000, 2, 9_000, 1, 996]
EVERYTHING = ("label", "probability", "log_density")


def dataset(codes: np.ndarray, lengths: list[int]) -> xr.Dataset:
    """Return codes with the sequences that they are of."""
    names = {"categories": {"symbol": list("abcde")}}
    return xr.Dataset(
        {
            "X": (("time", "feature"), codes[:, None], names),
            "sequence": ("time", np.repeat(np.arange(len(lengths)), lengths)),
        },
        coords={"feature": np.array(["symbol"], dtype=object)},
    )


@pytest.fixture(scope="module")
def sequences() -> xr.Dataset:
    """Sequences of one row, and of more than a block."""
    return dataset(CHAIN.drawn_codes(LENGTHS, np.random.default_rng(5)), LENGTHS)


@pytest.fixture(scope="module")
def expected(sequences: xr.Dataset) -> np.ndarray:
    """Probabilities from recursions over whole sequences."""
    codes = sequences["X"].to_numpy()[:, 0]
    return np.concatenate([posterior(CHAIN, codes[rows]) for rows in runs(LENGTHS)])


def in_memory(data, names=EVERYTHING, **options):
    samples = open_samples(data, sample_dim="time")
    with open_runtime(**options) as runtime:
        outputs, _ = evaluate_in_memory(samples, SequenceAnswers(CHAIN.hidden(), names), runtime)
    return outputs


def test_answers_in_memory__are_those_of_whole_sequences(
    sequences: xr.Dataset, expected: np.ndarray
) -> None:
    np.testing.assert_allclose(in_memory(sequences)["probability"], expected, rtol=1e-8, atol=1e-12)


def test_answers_of_a_store__have_the_same_labels_on_workers(
    sequences: xr.Dataset, expected: np.ndarray, tmp_path: Path
) -> None:
    store = tmp_path / "sequences.zarr"
    names = np.array(["symbol"], dtype=np.dtypes.StringDType())
    stored = sequences.assign_coords(feature=names).chunk(time=7_000)
    stored.to_zarr(store, zarr_format=3, consolidated=False)
    samples = open_samples(store, sample_dim="time")
    function = SequenceAnswers(CHAIN.hidden(), EVERYTHING)
    for workers, name in ((1, "one"), (2, "two")):
        with open_runtime(scheduler="threads", workers=workers) as runtime:
            evaluate_to_store(samples, function, runtime, tmp_path / name, sample_dim="time")
    one, two = (zarr.open_group(tmp_path / name, mode="r") for name in ("one", "two"))
    for name in EVERYTHING:
        np.testing.assert_array_equal(one[name][...], two[name][...])
    np.testing.assert_allclose(one["probability"][...], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(one["label"][...], in_memory(sequences)["label"])


@pytest.mark.parametrize("name", EVERYTHING)
def test_lazy_answers__of_any_chunks_are_those_in_memory(sequences: xr.Dataset, name: str) -> None:
    whole = in_memory(sequences)[name]
    chunks = (1, 1, 35_000, 9_999, 2, 4_997)
    lazy = evaluate_lazily(
        open_samples(sequences.chunk(time=chunks), sample_dim="time"),
        SequenceAnswers(CHAIN.hidden(), (name,)),
        missing="raise",
    )
    assert lazy.chunks[0] == chunks
    np.testing.assert_allclose(lazy.compute(), whole, rtol=1e-8, atol=1e-12)


def test_lazy_answers__of_chunks_of_one_row() -> None:
    codes = CHAIN.drawn_codes([400], np.random.default_rng(6))
    data = dataset(codes, [400])
    lazy = evaluate_lazily(
        open_samples(data.chunk(time=1), sample_dim="time"),
        SequenceAnswers(CHAIN.hidden(), ("probability",)),
        missing="raise",
    )
    assert lazy.chunks[0] == (1,) * 400
    np.testing.assert_allclose(lazy.compute(), posterior(CHAIN, codes), rtol=1e-8, atol=1e-12)
    # one task answers for all rows, which are cut apart again
    assert sum("evaluate" in str(key) for key in lazy.__dask_graph__()) == 1


def test_two_data_sets__share_no_sequence(sequences: xr.Dataset) -> None:
    part = sequences.isel(time=slice(20_000)).drop_vars("sequence")
    found = in_memory([part, part], ("probability",))["probability"]
    np.testing.assert_array_equal(found[:20_000], found[20_000:])
    lazy = open_samples([part.chunk(time=6_000), part.chunk(time=7_000)], sample_dim="time")
    function = SequenceAnswers(CHAIN.hidden(), ("probability",))
    answers = evaluate_lazily(lazy, function, missing="raise").compute()
    np.testing.assert_allclose(answers, found, rtol=1e-8, atol=1e-12)


def test_missing_codes__are_filled_summed_over_or_refused(sequences: xr.Dataset) -> None:
    data = sequences.isel(time=slice(300)).copy(deep=True)
    data["X"][[7, 100]] = -1
    samples = open_samples(data, sample_dim="time")
    function = SequenceAnswers(CHAIN.hidden(), ("label", "probability"))
    codes = data["X"].to_numpy()[:, 0]
    with open_runtime() as runtime:
        left_out, validity = evaluate_in_memory(samples, function, runtime)
        summed, _ = evaluate_in_memory(samples, function, runtime, marginalised=True)
    assert validity.dropped == 2
    assert (left_out["label"][[7, 100]] == -1).all()
    assert np.isnan(left_out["probability"][[7, 100]]).all()
    pieces = [posterior(CHAIN, codes[rows]) for rows in (slice(1, 7), slice(8, 100))]
    np.testing.assert_allclose(
        left_out["probability"][[*range(1, 7), *range(8, 100)]], np.concatenate(pieces), rtol=1e-8
    )
    np.testing.assert_allclose(summed["probability"][1:], posterior(CHAIN, codes[1:]), rtol=1e-8)
    lazy = evaluate_lazily(
        open_samples(data.chunk(time=50), sample_dim="time"),
        SequenceAnswers(CHAIN.hidden()),
        missing="raise",
    )
    with pytest.raises(MissingValueError):
        lazy.compute()
