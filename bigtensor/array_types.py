"""Array types that all rooms name in signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
"""Array of float64, the type of all sums and of all mathematics on the driver."""

FloatingArray: TypeAlias = NDArray[np.floating[Any]]
"""Array of float32 or float64: features of a block, as the fit computes them."""

IntArray: TypeAlias = NDArray[np.int64]
"""Array of int64: counts, codes and row numbers, which are stored alike on every machine."""

IndexArray: TypeAlias = NDArray[np.intp]
"""Array of positions in memory, as `numpy.argsort` gives them."""
