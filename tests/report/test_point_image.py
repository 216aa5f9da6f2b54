"""Image of many points."""

import numpy as np

from bigtensor.report.drawings.point_image import OPACITY, PIXELS, point_image

RED, BLUE = (1.0, 0, 0, 1), (0, 0, 1.0, 1)


def test_point_image__mixes_the_colours_of_points_in_one_place():
    x, y = np.array([0.5, 0.5, 0.25, 3.0, np.nan]), np.array([0.5, 0.5, 0.75, 0.5, 0.5])
    image = point_image(x, y, np.array([RED, BLUE, RED, RED, RED]), (0, 1), (0, 1))
    half, quarter = PIXELS // 2, PIXELS // 4
    np.testing.assert_allclose(image[half, half], [0.5, 0, 0.5, 1 - (1 - OPACITY) ** 2])
    np.testing.assert_allclose(image[3 * quarter, quarter], [1, 0, 0, OPACITY])
    assert np.count_nonzero(image[..., 3]) == 10
