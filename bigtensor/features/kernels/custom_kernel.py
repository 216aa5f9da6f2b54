"""User-defined kernels: a callable, with a rule for its mass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError, Setting
from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.features.kernels.kernel_mass import integrate_around

KernelFunction = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""From rows ``(n, d)`` and landmarks ``(p, d)`` to the kernel between them, ``(n, p)``."""

_ROUNDING = 1e-5
"""What a Gram matrix computed in float32 may lack in symmetry and positivity, relative."""

_DIAGONAL_ROWS = 64
"""Rows whose Gram matrix is evaluated for its diagonal: a call for every row would take longer."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CustomKernel(Kernel):
    """A callable as a kernel.

    The callable is given float64 arrays that it must neither change nor keep, and is free to
    allocate: a user-defined kernel runs at the speed of its callable. To fit on other processes it
    has to be importable there, or to be sent by cloudpickle. A saved model does not hold it.

    Parameters
    ----------
    function : callable
        ``(n, d), (p, d) -> (n, p)``; symmetric, positive semidefinite, and finite.
    width : int
        The number of features of the view, d.
    mass : "one", (p,) array or None, default None
        The integral of the kernel around every landmark: ``"one"`` when it is a density; its
        values, for landmarks that are known beforehand; None to integrate it numerically, in views
        of one or two features, to a relative accuracy of about 1e-4.

    Raises
    ------
    ParameterError
        When the arguments are of another kind, or a mass is not finite, or None in a view of more
        than two features.

    References
    ----------
    Song et al. (2014), sec. 2; the mass makes the embedding of a component a density.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor import CustomKernel, KernelMixture, simulate
    >>> def cauchy(rows, landmarks):
    ...     return 1 / (1 + (rows[:, None, 0] - landmarks[None, :, 0]) ** 2)
    >>> data = simulate.kernel_mixture(2_000, 2, random_state=0)
    >>> kernel = CustomKernel(cauchy, width=1)
    >>> KernelMixture(2, kernel={"view1": kernel}, random_state=0).fit(data).weights_.round(1)
    array([0.7, 0.3])
    """

    # the callable is no field: fields are what identifies a computation by its content, which a
    # callable lacks; the Gram matrix of the landmarks stands for it in what is computed from it
    _width: int
    _mass: FloatArray | Literal["one"] | None
    _factor: float
    _volume: float

    def __init__(
        self,
        function: KernelFunction,
        width: int,
        mass: NDArray[Any] | Literal["one"] | None = None,
    ) -> None:
        if not callable(function):
            raise ParameterError(f"a kernel is a callable of rows and landmarks, got {function!r}")
        if not isinstance(width, int | np.integer) or width < 1:
            raise ParameterError(f"the width of a kernel is its number of features, got {width!r}")
        rule = _checked_mass(mass, width)
        vars(self).update(
            _function=function, _width=int(width), _mass=rule, _factor=1.0, _volume=1.0
        )

    def __repr__(self) -> str:
        return f"CustomKernel({getattr(self.function, '__name__', self.function)}, {self.width})"

    @property
    def function(self) -> KernelFunction:
        """The callable."""
        function: KernelFunction = vars(self)["_function"]
        return function

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return self._width

    @property
    def mass(self) -> FloatArray | Literal["one"] | None:
        """The rule of the mass: ``"one"``, the masses, or None for numerical integration."""
        return self._mass

    @property
    def units(self) -> tuple[float, float]:
        """Factor of the values of the callable, and `volume`."""
        return self._factor, self._volume

    def with_units(self, factor: float, volume: float) -> CustomKernel:
        """Return the kernel with other `units`."""
        kernel = CustomKernel(self.function, self.width, self.mass)
        vars(kernel).update(_factor=factor, _volume=volume)
        return kernel

    @property
    def volume(self) -> float:
        """Volume in the units of the data that counts as one."""
        return self._volume

    def relative_to(self, landmarks: NDArray[Any]) -> CustomKernel:
        """Return the kernel with values and masses of at most one at the landmarks."""
        factor = 1 / _largest(self.in_data_units().diagonal(landmarks))
        return self.with_units(factor, _largest(self.with_units(factor, 1.0).masses(landmarks)))

    def in_data_units(self) -> CustomKernel:
        """Return the kernel as the callable gives it."""
        return self.with_units(1.0, 1.0)

    @property
    def peak(self) -> float:
        """One: blocks hold the values of the kernel."""
        return 1.0

    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> FloatArray:
        """Return the kernel between every row and every landmark, ``(n, p)``.

        Raises
        ------
        DataError
            When the callable returns another shape, or values that are not finite.
        """
        rows, points = np.asarray(x, np.float64), np.asarray(landmarks, np.float64)
        return np.asarray(self._call(rows, points, "float64"), np.float64)

    def gram(self, landmarks: NDArray[Any]) -> FloatArray:
        """Return the kernel between all landmarks, ``(p, p)``.

        Raises
        ------
        DataError
            When the matrix is not symmetric or has a clearly negative eigenvalue, and as for
            `evaluate`.
        """
        gram = self.evaluate(landmarks, landmarks)
        largest = np.abs(gram).max(initial=0.0)
        difference = np.abs(gram - gram.T).max(initial=0.0)
        if difference > _ROUNDING * largest:
            raise DataError(
                f"{self._name} is not symmetric: k(x, y) and k(y, x) differ by up to "
                f"{difference:.3g} between {len(gram)} landmarks, where values go up to "
                f"{largest:.3g}; a kernel is a symmetric function of two points"
            )
        gram = 0.5 * (gram + gram.T)
        eigenvalues = np.linalg.eigvalsh(gram)
        if eigenvalues.size and eigenvalues[0] < -_ROUNDING * np.abs(eigenvalues).max():
            raise DataError(
                f"{self._name} is not positive semidefinite: the eigenvalues of its Gram matrix of "
                f"{len(gram)} landmarks lie between {eigenvalues[0]:.3g} and "
                f"{eigenvalues[-1]:.3g}; use a function that is an inner product of features"
            )
        return np.asarray(gram)

    def diagonal(self, x: NDArray[Any]) -> FloatArray:
        """Return the kernel between every row and itself: ``(n,)``."""
        parts = [
            np.diagonal(self.evaluate(rows, rows))
            for rows in (
                x[start : start + _DIAGONAL_ROWS] for start in range(0, len(x), _DIAGONAL_ROWS)
            )
        ]
        return np.concatenate([np.empty(0), *parts])

    def masses(self, landmarks: NDArray[Any]) -> FloatArray:
        """Return the integral of the kernel around every landmark, over `volume`: ``(p,)``.

        Raises
        ------
        DataError
            When masses were given for another number of landmarks, or numerical integration fails.
        """
        points = np.asarray(landmarks, np.float64)
        if isinstance(self._mass, str):
            return np.full(len(points), self._factor / self._volume)
        if self._mass is None:
            return integrate_around(self.evaluate, points) / self._volume
        if len(self._mass) != len(points):
            raise DataError(
                f"{self._name} was given {len(self._mass)} masses for {len(points)} landmarks; "
                "give one a landmark, or " + Setting("mass", None) + " to integrate it"
            )
        return self._mass * (self._factor / self._volume)

    def prepare(
        self,
        landmarks: NDArray[Any],
        centre: NDArray[Any],  # noqa: ARG002
        dtype: str,  # noqa: ARG002
    ) -> FloatArray:
        """Return the landmarks, ``(p, d)``."""
        return np.array(landmarks, np.float64)

    def write_block(
        self,
        values: NDArray[Any],
        prepared: NDArray[Any],
        centre: NDArray[Any],  # noqa: ARG002
        out: NDArray[Any],
        work: Scratch,
    ) -> None:
        """Write the values of the callable for the rows, computed in float64."""
        rows = work.take("features.custom_rows", values.shape, "float64")
        np.copyto(rows, values)
        kernel = self._call(rows, prepared, out.dtype.name)
        np.copyto(out[:, : len(values)], kernel.T, casting="same_kind")
        out[:, len(values) :] = 0

    def work_arrays(self, rows: int, dtype: str) -> Buffers:  # noqa: ARG002
        """Return the buffer of the rows. The memory of the callable is not known."""
        return {"features.custom_rows": ((rows, self._width), "float64")}

    def _call(self, rows: FloatArray, landmarks: FloatArray, dtype: str) -> NDArray[Any]:
        """Return the kernel in its units, when it is one that ``dtype`` can hold."""
        kernel = np.asarray(self.function(rows, landmarks))
        shape = (len(rows), len(landmarks))
        if kernel.shape != shape or kernel.dtype.kind not in "fiub":
            raise DataError(
                f"{self._name} returned an array of shape {kernel.shape} and dtype {kernel.dtype} "
                f"for {shape[0]} rows and {shape[1]} landmarks; it must return real numbers of "
                f"shape {shape}"
            )
        if self._factor != 1:
            kernel = np.multiply(kernel, self._factor, dtype=np.float64)
        # of values that are not finite, the largest or the least is not finite either
        least, most = kernel.min(initial=0), kernel.max(initial=0)
        bound = np.finfo(dtype).max
        if not (-bound <= least and most <= bound):
            raise DataError(
                f"{self._name} returned values between {least} and {most}; they must be finite in "
                f"{dtype}: check it at large distances, or scale it"
            )
        return kernel

    @property
    def _name(self) -> str:
        """Name of the kernel in messages."""
        return f"the kernel {getattr(self.function, '__name__', repr(self.function))!r}"


def _largest(values: FloatArray) -> float:
    """Return the largest magnitude; one where all values are zero."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def _checked_mass(mass: ArrayLike | None, width: int) -> FloatArray | Literal["one"] | None:
    """Refuse what is no rule for a mass."""
    if mass is None:
        if width > 2:
            raise ParameterError(
                f"a kernel of {width} features is not integrated numerically; say "
                + Setting("mass", "one")
                + " when its integral is one, or give its integral around every landmark"
            )
        return None
    if isinstance(mass, str):
        if mass == "one":
            return "one"
        raise ParameterError(f"the mass of a kernel is 'one', an array or None, got {mass!r}")
    masses = np.array(mass, np.float64)
    if masses.ndim != 1 or not masses.size or not np.isfinite(masses).all():
        raise ParameterError(
            f"the masses of a kernel are one finite number a landmark, got {mass!r}"
        )
    return masses
