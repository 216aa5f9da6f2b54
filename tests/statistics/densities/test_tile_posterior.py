"""Places of the largest entries of rows, as NumPy finds them."""

import numpy as np
import pytest

from bigtensor.statistics.densities.tile_posterior import write_labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, 8, 16, 32, 33, 40])
def test_write_labels__are_those_of_numpy(width, dtype):
    rng = np.random.default_rng(width)
    # few different numbers: many rows have several largest entries
    joint = rng.integers(-3, 3, (2000, width)).astype(dtype)
    joint[rng.random(joint.shape) < 0.1] = -np.inf
    joint[:5] = np.nan
    joint[5:9] = -np.inf
    label = np.empty(len(joint), np.intp)
    write_labels(joint, label)
    np.testing.assert_array_equal(label, joint.argmax(axis=1))
