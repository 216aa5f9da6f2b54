"""A model says what data it takes, and refuses others with the option that makes them."""

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, KernelMixture, SpectralOptions, TensorTrainDensity
from bigtensor.data.opening import open_samples
from bigtensor.errors import DataError
from bigtensor.models.contract.data_kinds import Data
from bigtensor.models.contract.opened_fit import shape_of

VALUES = np.random.default_rng(0).normal(size=(500, 3))
VALUES[:250] += 4
CODES = xr.DataArray(
    np.zeros((500, 3), np.int16),
    dims=("sample", "feature"),
    name="X",
    attrs={"categories": {"x0": ["a"], "x1": ["b"], "x2": ["c"]}},
)


@pytest.fixture(scope="module")
def model() -> KernelMixture:
    return KernelMixture(
        2, spectral=SpectralOptions(n_landmarks=20), init="kmeans", random_state=0
    ).fit(VALUES)


def test_kernel_mixture__refuses_codes_in_every_call(model: KernelMixture, tmp_path: Path) -> None:
    words = r"are int16, codes of categories .*KernelMixture takes measured .*without --codes"
    grouped = CODES.to_dataset().assign(donor=("sample", ["ann"] * 500))
    for call in (
        KernelMixture(2).fit,
        KernelMixture(2).plan,
        KernelMixture(2).prepare,
        model.predict,
        model.score_samples,
        lambda data: model.write(data, tmp_path / "labels.zarr"),
        lambda _: model.weights_by(grouped, "donor"),
    ):
        with pytest.raises(DataError, match=words):
            call(CODES)


def test_check__asks_for_codes_with_categories() -> None:
    takes = Data(kinds={"codes"})
    samples = open_samples(CODES)
    assert takes.check(samples, "M") is samples
    assert shape_of(samples).categories == (("a",), ("b",), ("c",))
    assert shape_of(open_samples(VALUES)).categories == ()
    with pytest.raises(DataError, match=r"no categories. .* with --codes"):
        takes.check(open_samples(CODES.drop_attrs().chunk({"sample": 100})), "M")
    with pytest.raises(DataError, match=r"M takes codes .* with --codes"):
        takes.check(open_samples(da.from_array(VALUES, chunks=100)), "M")
    with pytest.raises(DataError, match=r"M takes codes .* such as -9"):
        takes.check(open_samples(VALUES), "M")
    with pytest.raises(DataError, match=r"codes .* such as -9.*; .*csr_array"):
        Data(kinds={"codes", "counts"}).check(open_samples(VALUES), "M")


@pytest.mark.parametrize(
    "model", [DiscreteMixture(2, random_state=0), TensorTrainDensity(random_state=0)], ids=repr
)
def test_answers__plain_numbers_are_the_codes_of_named_categories(
    model: DiscreteMixture | TensorTrainDensity,
) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    names = np.array([["red", "small", "left"], ["blue", "large", "right"]])
    table = pd.DataFrame(
        {
            name: pd.Categorical(names[group ^ (rng.random(400) < 0.1), column])
            for column, name in enumerate(["colour", "size", "side"])
        }
    )
    codes = np.column_stack([table[name].cat.codes for name in table])
    expected = model.fit(table).score_samples(table)

    np.testing.assert_array_equal(
        model.score_samples(pd.DataFrame(codes, columns=[*table])), expected
    )
    np.testing.assert_array_equal(
        model.score_samples(pd.DataFrame(codes.astype(float), columns=[*table])), expected
    )
    with pytest.raises(DataError, match="has the code 2, but its 2 categories"):
        model.score_samples(pd.DataFrame(codes + 1, columns=[*table]))


def test_answers__plain_numbers_are_names_of_a_fit_whose_names_are_numbers() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, (400, 1))
    answers = 1 + (group ^ (rng.random((400, 4)) < 0.1)) + 2 * (rng.random((400, 4)) < 0.1)
    model = DiscreteMixture(2, random_state=0).fit(answers.astype(str))

    np.testing.assert_array_equal(
        model.predict_proba(answers), model.predict_proba(answers.astype(str))
    )
    np.testing.assert_array_equal(
        model.predict_proba(answers[:1]), model.predict_proba(answers)[:1]
    )
