"""Messages between blocks: any cut of the rows gives what whole sequences give."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.rows.block import Block
from bigtensor.errors import BigtensorError, ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.sequences.answers import SequenceAnswers
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.ends import SequenceEnds
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.group_occupancy import GroupOccupancy
from bigtensor.statistics.sequences.transfer import Boundaries, TransferOperators
from bigtensor.testing.cases import cut_blocks
from tests.statistics.sequences.recursions import (
    Array,
    Chain,
    best_log_probability,
    forward_backward,
    pair_counts,
    path_log_probability,
    posterior,
    runs,
)

LENGTHS = [1, 2, 1, 300, 3, 1, 77, 2]
ROWS = sum(LENGTHS)
LEFT_TO_RIGHT = Chain(
    np.array([1.0, 0.0, 0.0]),
    np.array([[0.98, 0.02, 0.0], [0.0, 0.97, 0.03], [0.0, 0.0, 1.0]]),
    np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
)
CHAINS = {
    "one state": Chain.drawn(1, 4, np.random.default_rng(1)),
    "four states": Chain.drawn(4, 6, np.random.default_rng(2)),
    "left to right": LEFT_TO_RIGHT,
    "states that hardly mix": Chain(
        np.array([0.5, 0.5]),
        np.array([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]),
        np.array([[0.9, 0.1], [0.2, 0.8]]),
    ),
}


def sequences_of(chain: Chain, lengths: list[int] = LENGTHS, seed: int = 0) -> Block:
    """Return a block of sequences, with weights."""
    rng = np.random.default_rng(seed)
    codes = chain.drawn_codes(lengths, rng)
    ids = np.repeat(np.arange(len(lengths)) % 3, lengths)
    weight = rng.random(len(codes)) + 0.5
    return Block(codes[:, None], {"s": slice(0, 1)}, 0, len(codes), weight, ids)


def summed(statistic, blocks):
    """Return the result of a statistic over blocks, each in a task of its own."""
    state = statistic.init()
    for block in blocks:
        part, work = statistic.init(), Workspace()
        statistic.update(part, block, work)
        assert work.nbytes <= statistic.work_nbytes(block.rows)
        state = statistic.combine(state, part)
    assert sum(array.nbytes for array in state.values()) <= statistic.state_nbytes()
    return statistic.finalize(state)


def answered(chain: HiddenChain, blocks: list[Block]) -> dict[str, np.ndarray]:
    """Return all outputs of all rows."""
    function = SequenceAnswers(chain, ("label", "probability", "log_density"))
    function = function.between(summed(function.operators(len(blocks)), blocks))
    outputs = {output.name: [] for output in function.outputs}
    for block in blocks:
        if not block.rows:
            continue
        out = {
            output.name: np.empty((block.rows, *output.dims.values()), output.dtype)
            for output in function.outputs
        }
        work = Workspace()
        function.evaluate(block, out, work)
        assert work.nbytes <= function.work_nbytes(block.rows)
        for name, array in out.items():
            outputs[name].append(array)
    return {name: np.concatenate(arrays) for name, arrays in outputs.items()}


@cache
def whole_sequences(name: str) -> list[tuple[Array, Array, float, Array]]:
    """Return probabilities, log densities, best path's and pairs of every sequence."""
    chain, block = CHAINS[name], sequences_of(CHAINS[name])
    codes, weight = block.values[:, 0], block.weight
    return [
        (
            posterior(chain, codes[rows]),
            forward_backward(chain, codes[rows])[2],
            best_log_probability(chain, codes[rows]),
            pair_counts(chain, codes[rows], weight[rows]),
        )
        for rows in runs(LENGTHS)
    ]


borders = st.lists(st.integers(0, ROWS), max_size=40).map(lambda inner: [0, *sorted(inner), ROWS])


@pytest.mark.parametrize("name", CHAINS)
@given(cut=borders)
@settings(deadline=None, max_examples=25)
@pytest.mark.quick_cases("four states", "left to right")
def test_answers__of_any_cut_are_those_of_whole_sequences(name: str, cut: list[int]) -> None:
    chain, expected = CHAINS[name], whole_sequences(name)
    block = sequences_of(chain)
    found = answered(chain.hidden(), cut_blocks(block, cut))
    codes = block.values[:, 0]
    for rows, (states, log_density, best, _) in zip(runs(LENGTHS), expected, strict=True):
        np.testing.assert_allclose(found["log_density"][rows], log_density, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found["probability"][rows], states, rtol=1e-9, atol=1e-12)
        path = path_log_probability(chain, codes[rows], found["label"][rows])
        assert path == pytest.approx(best, abs=1e-6)


@given(cut=borders)
@settings(deadline=None, max_examples=25)
def test_best_path__is_the_same_for_any_cut_though_many_paths_are_equal(cut: list[int]) -> None:
    chain = CHAINS["four states"]
    block = sequences_of(chain, seed=3)
    whole = answered(chain.hidden(), [block])["label"]
    np.testing.assert_array_equal(answered(chain.hidden(), cut_blocks(block, cut))["label"], whole)


@given(cut=borders)
@settings(deadline=None, max_examples=25)
def test_sums_and_ends__of_any_cut_are_those_of_whole_sequences(cut: list[int]) -> None:
    chain = CHAINS["four states"]
    block = sequences_of(chain)
    hidden, blocks = chain.hidden(), cut_blocks(block, cut)
    boundaries = summed(TransferOperators(hidden, len(blocks)), blocks)
    sums = summed(SequencePosteriorSums(hidden, boundaries), blocks)
    ends = summed(SequenceEnds.from_boundaries(hidden, boundaries), blocks)
    codes, weight = block.values[:, 0], block.weight
    initial, transition = np.zeros(4), np.zeros((4, 4))
    emission, log_likelihood = np.zeros((7, 4)), 0.0
    assert boundaries.sequences == len(LENGTHS)
    np.testing.assert_array_equal(ends.rows, LENGTHS)
    np.testing.assert_array_equal(ends.sequence, np.arange(len(LENGTHS)) % 3)
    for at, rows in enumerate(runs(LENGTHS)):
        states, log_density, _, pairs = whole_sequences("four states")[at]
        initial += weight[rows][0] * states[0]
        transition += pairs
        np.add.at(emission, codes[rows], weight[rows, None] * states)
        log_likelihood += weight[rows] @ log_density
        assert ends.log_likelihood[at] == pytest.approx(log_density.sum(), rel=1e-10)
        np.testing.assert_allclose(ends.last[at], states[-1], rtol=1e-9)
    np.testing.assert_allclose(sums.initial, initial, rtol=1e-9)
    np.testing.assert_allclose(sums.transition, transition, rtol=1e-9)
    np.testing.assert_allclose(sums.emissions.histograms, emission, rtol=1e-9)
    assert sums.emissions.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)
    assert sums.emissions.weight == pytest.approx(weight.sum(), rel=1e-12)


@given(borders)
@settings(deadline=None, max_examples=10)
def test_occupancy_of_groups__is_that_of_whole_sequences(cuts: list[int]) -> None:
    chain = CHAINS["four states"]
    group = np.arange(ROWS) % 4 - 1
    block = replace(sequences_of(chain), group=group)
    blocks, hidden = cut_blocks(block, cuts), chain.hidden()
    boundaries = summed(TransferOperators(hidden, len(blocks)), blocks)
    found = summed(GroupOccupancy(hidden, boundaries, 3), blocks)
    states = np.concatenate([of_rows[0] for of_rows in whole_sequences("four states")])
    weighted = block.weight[:, None] * states
    expected = [weighted[group == number].sum(axis=0) for number in range(3)]
    np.testing.assert_allclose(found.mass, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.rows, np.bincount(group[group >= 0]))
    assert found.rows_without == np.count_nonzero(group < 0)


def test_occupancy_without_groups__is_refused() -> None:
    block, hidden = sequences_of(LEFT_TO_RIGHT), LEFT_TO_RIGHT.hidden()
    boundaries = summed(TransferOperators(hidden, 1), [block])
    with pytest.raises(ParameterError, match="no groups"):
        summed(GroupOccupancy(hidden, boundaries, 3), [block])


@given(cut=borders)
@settings(deadline=None, max_examples=25)
def test_a_row_left_out__cuts_its_sequence(cut: list[int]) -> None:
    chain, lengths = CHAINS["four states"], [120, 90, 180]
    block = sequences_of(chain, lengths, seed=1)
    block = replace(block, sequence=None)
    kept = np.ones(block.rows, bool)
    kept[[0, 120, 121, 211]] = False
    blocks = [
        part.keep(kept[part.start : part.start + part.rows])
        for part in cut_blocks(block, [min(at, block.rows) for at in cut] + [block.rows])
    ]
    found = answered(chain.hidden(), blocks)
    codes, start = block.values[:, 0], 0
    for first, last in ((1, 120), (122, 211), (212, block.rows)):
        stop = start + last - first
        np.testing.assert_allclose(
            found["probability"][start:stop],
            posterior(chain, codes[first:last]),
            rtol=1e-9,
            atol=1e-12,
        )
        start = stop


def test_a_missing_code__says_nothing_of_its_state() -> None:
    chain = CHAINS["four states"]
    block = sequences_of(chain, [50])
    block.values[[0, 10, 11, 49]] = -1
    found = answered(chain.hidden(), cut_blocks(block, [0, 10, 11, 30, 50]))
    np.testing.assert_allclose(
        found["probability"], posterior(chain, block.values[:, 0]), rtol=1e-9
    )
    np.testing.assert_allclose(found["log_density"][[0, 10, 11, 49]], 0, atol=1e-10)


def test_rows_of_two_data_sets__are_two_sequences_though_their_ids_are_the_same() -> None:
    chain = CHAINS["four states"]
    block = replace(sequences_of(chain, [40, 60]), sequence=None)
    first, second = cut_blocks(block, [0, 40, 100])
    found = answered(chain.hidden(), [first, replace(second, source_start=40)])
    codes = block.values[:, 0]
    expected = np.concatenate([posterior(chain, codes[:40]), posterior(chain, codes[40:])])
    np.testing.assert_allclose(found["probability"], expected, rtol=1e-9)


@pytest.mark.parametrize("rows", [200, 20_000])
def test_states_that_never_meet__do_not_vanish(rows: int) -> None:
    chain = Chain(np.array([0.5, 0.5]), np.eye(2), np.array([[0.9, 0.1], [0.1, 0.9]]))
    codes = np.repeat(np.array([0, 1], np.int16), rows // 2)[:, None]
    block = Block(codes, {"s": slice(0, 1)}, 0, len(codes))
    found = answered(chain.hidden(), cut_blocks(block, [0, rows // 7, rows]))
    np.testing.assert_allclose(found["probability"].sum(axis=1), 1, rtol=1e-12)
    if rows == 200:
        # both states explain half of the rows
        np.testing.assert_allclose(found["probability"], 0.5, rtol=1e-9)
    path = found["label"]
    assert {*path.tolist()} in ({0}, {1})


def test_blocks_of_another_cut__are_refused() -> None:
    chain = CHAINS["four states"].hidden()
    block = sequences_of(CHAINS["four states"])
    boundaries = summed(TransferOperators(chain, 2), cut_blocks(block, [0, 100, ROWS]))
    assert isinstance(boundaries, Boundaries)
    with pytest.raises(BigtensorError, match=r"no message .* block at row 50"):
        boundaries.around(cut_blocks(block, [50, ROWS])[0])


@pytest.mark.parametrize("names", [(), ("label", "label"), ("density",)])
def test_outputs__must_be_known(names: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="answers for a row are some of"):
        SequenceAnswers(CHAINS["one state"].hidden(), names)


def test_chain__needs_distributions() -> None:
    chain = CHAINS["four states"].hidden()
    with pytest.raises(ParameterError, match="sum to one"):
        replace(chain, transition=chain.transition * 2)
    with pytest.raises(ParameterError, match="got the shapes"):
        replace(chain, initial=chain.initial[:2])


@given(cut=borders, seed=st.integers(0, 20))
@settings(deadline=None, max_examples=25)
def test_rows_after_a_gap__have_states_of_their_own_in_any_cut(cut: list[int], seed: int) -> None:
    chain = CHAINS["four states"]
    after_gap = np.array([0.1, 0.2, 0.3, 0.4])
    block = sequences_of(chain)
    mask = np.random.default_rng(seed).random(ROWS) < 0.9
    hidden = replace(chain.hidden(), after_gap=after_gap)
    blocks = [
        part.keep(mask[part.start : part.start + part.rows]) for part in cut_blocks(block, cut)
    ]
    boundaries = summed(TransferOperators(hidden, len(blocks)), blocks)
    sums = summed(SequencePosteriorSums(hidden, boundaries), blocks)
    found = answered(hidden, blocks)
    kept = np.flatnonzero(mask)
    assert block.sequence is not None
    new = np.diff(block.sequence[kept], prepend=-1) != 0
    gap = np.diff(kept, prepend=-1) > 1
    edges = np.flatnonzero(new | gap)
    initial = np.zeros(4)
    for start, stop in zip(edges, [*edges[1:], len(kept)], strict=True):
        own = chain.initial if new[start] else after_gap
        codes = block.values[kept[start:stop], 0]
        states = posterior(replace(chain, initial=own), codes)
        np.testing.assert_allclose(found["probability"][start:stop], states, rtol=1e-9, atol=1e-12)
        path = path_log_probability(replace(chain, initial=own), codes, found["label"][start:stop])
        best = best_log_probability(replace(chain, initial=own), codes)
        assert path == pytest.approx(best, abs=1e-6)
        initial += new[start] * block.weight[kept[start]] * states[0]
    np.testing.assert_allclose(sums.initial, initial, rtol=1e-9, atol=1e-12)
