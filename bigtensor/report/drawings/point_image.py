"""Image of many points, which a drawing of single points would take long for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray

PIXELS = 440
"""Width and height of the image: the pixels of axes three inches wide."""

OPACITY = 0.55
"""Opacity of one point."""

_SHAPE = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
"""Pixels of a point, relative to its middle."""


def point_image(
    x: NDArray[Any],
    y: NDArray[Any],
    colours: FloatArray,
    x_limits: tuple[float, float],
    y_limits: tuple[float, float],
) -> FloatArray:
    """Return an image whose pixels have the mean colour of the points that cover them.

    Parameters
    ----------
    x, y : (n,) arrays
        Places of the points. Points beyond the limits are left out.
    colours : (n, 4) float64 array
        Red, green, blue, and opacity, which is not used. All are between 0 and 1.
    x_limits, y_limits : tuple of two float
        Ends of the axes.

    Returns
    -------
    (PIXELS, PIXELS, 4) float64 array
        The first row is at the lower end of y. The more points cover a pixel, the more opaque it
        is.
    """
    places = np.column_stack([_pixels(x, x_limits), _pixels(y, y_limits)])
    inside = ((places >= 0) & (places < PIXELS)).all(axis=1)
    covered = (places[inside, None] + _SHAPE).clip(0, PIXELS - 1)
    pixel = (covered[..., 1] * PIXELS + covered[..., 0]).ravel()
    shades = np.repeat(colours[inside, :3], len(_SHAPE), axis=0)
    count = np.bincount(pixel, minlength=PIXELS**2)
    image = np.ones((PIXELS**2, 4))
    for channel in range(3):
        total = np.bincount(pixel, shades[:, channel], PIXELS**2)
        np.divide(total, count, out=image[:, channel], where=count > 0)
    image[:, 3] = 1 - (1 - OPACITY) ** count
    return image.reshape(PIXELS, PIXELS, 4)


def _pixels(values: NDArray[Any], limits: tuple[float, float]) -> NDArray[np.intp]:
    """Return the pixel of every value along one axis."""
    low, high = limits
    scaled = (np.asarray(values, np.float64) - low) / (high - low) * PIXELS
    bounded = np.nan_to_num(scaled, nan=-1.0).clip(-1, PIXELS)
    return np.asarray(np.floor(bounded), np.intp)
