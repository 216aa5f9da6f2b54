"""Transforms against their defining equations."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from bigtensor.data.importers.transforms import (
    Arcsinh,
    Linear,
    Logicle,
    is_untransformed,
)
from bigtensor.errors import ParameterError

SCALES = [
    Logicle(),
    Logicle(W=0.0),
    Logicle(T=1000.0, W=1.0, M=4.0, A=0.0),
    Logicle(T=262144.0, W=1.0, M=4.5, A=1.5),
    Logicle(T=1000.0, W=0.5, M=4.0, A=-0.5),
    Logicle(T=1e5, W=2.0, M=4.0),
]
VALUES = np.concatenate([[0.0], np.geomspace(1e-6, 3e5, 200), -np.geomspace(1e-6, 3e4, 200)])


def published_biexponential(scale: Logicle) -> tuple[float, ...]:
    """The constants a, b, c, d, f and x1 as Moore & Parks 2012 define them."""
    b = (scale.M + scale.A) * math.log(10)
    w = scale.W / (scale.M + scale.A)
    x2 = scale.A / (scale.M + scale.A)
    x1, x0 = x2 + w, x2 + 2 * w

    def condition(d: float) -> float:
        return 2 * (math.log(d) - math.log(b)) + w * (b + d)

    d = b if scale.W == 0 else brentq(condition, 1e-12, b, xtol=1e-14)
    c_a = math.exp(x0 * (b + d))
    mf_a = math.exp(b * x1) - c_a / math.exp(d * x1)
    a = scale.T / ((math.exp(b) - mf_a) - c_a / math.exp(d))
    return a, b, c_a * a, d, -mf_a * a, x1


@pytest.mark.parametrize("scale", SCALES)
def test_logicle__solves_the_published_equation(scale: Logicle) -> None:
    a, b, c, d, f, x1 = published_biexponential(scale)
    y = scale(VALUES)
    reflected = x1 + np.abs(y - x1)
    back = np.copysign(a * np.exp(b * reflected) - c * np.exp(-d * reflected) + f, y - x1)
    # The published form loses digits to cancellation near 0, hence the absolute part.
    np.testing.assert_allclose(back, VALUES, rtol=1e-10, atol=1e-12 * scale.T)


@pytest.mark.parametrize("scale", SCALES)
def test_logicle__inverse_returns_the_value(scale: Logicle) -> None:
    np.testing.assert_allclose(scale.inverse(scale(VALUES)), VALUES, rtol=1e-10, atol=1e-9)
    y = np.linspace(-0.2, 1.1, 101)
    np.testing.assert_allclose(scale(scale.inverse(y)), y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", SCALES)
def test_logicle__fixed_points_and_symmetry(scale: Logicle) -> None:
    zero = (scale.A + scale.W) / (scale.M + scale.A)
    assert scale(scale.T) == pytest.approx(1.0, abs=1e-13)
    assert scale(0.0) == pytest.approx(zero, abs=1e-15)
    np.testing.assert_allclose(scale(VALUES) + scale(-VALUES), 2 * zero, atol=1e-13)
    assert np.all(np.diff(scale(np.sort(VALUES))) > 0)


def test_logicle__is_linear_where_its_curvature_vanishes() -> None:
    scale, zero = Logicle(), 0.5 / 4.5
    step = 1e-3
    second = scale.inverse(zero + step) - 2 * scale.inverse(zero) + scale.inverse(zero - step)
    slope = (scale.inverse(zero + step) - scale.inverse(zero - step)) / 2
    assert abs(second / slope) < 1e-12


def test_logicle__hands_through_what_is_not_finite() -> None:
    result = Logicle()([np.nan, np.inf, -np.inf, 262144.0])
    np.testing.assert_allclose(result, [np.nan, np.inf, -np.inf, 1.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"T": 0}, "positive T"),
        ({"W": 3}, "W <= M / 2"),
        ({"W": -1}, "0 <= W"),
        ({"A": 4}, "A <= M - 2 W"),
        ({"M": math.nan}, "positive T and M"),
    ],
)
def test_logicle__checks_its_parameters(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Logicle(**parameters)


@given(st.floats(-1e6, 1e6), st.floats(1e-2, 1e4))
def test_arcsinh__is_the_formula_and_has_an_inverse(value: float, cofactor: float) -> None:
    transform = Arcsinh(cofactor)
    assert transform(value) == pytest.approx(math.asinh(value / cofactor), rel=1e-12, abs=1e-300)
    assert transform.inverse(transform(value)) == pytest.approx(value, rel=1e-12, abs=1e-300)


def test_arcsinh__takes_one_cofactor_a_feature() -> None:
    values = np.array([[5.0, 150.0], [-10.0, 0.0]])
    transform = Arcsinh((5.0, 150.0))
    expected = np.arcsinh([[1.0, 1.0], [-2.0, 0.0]])
    np.testing.assert_allclose(transform(values), expected, rtol=1e-15)
    np.testing.assert_allclose(transform.inverse(expected), values, rtol=1e-14)
    assert values[0, 0] == 5.0


@pytest.mark.parametrize("cofactor", [0, -1.0, math.inf, math.nan, (), (1.0, 0.0)])
def test_arcsinh__needs_a_positive_cofactor(cofactor: float) -> None:
    with pytest.raises(ParameterError, match="positive and finite"):
        Arcsinh(cofactor)


@pytest.mark.parametrize("transform", [Linear(), Arcsinh(5.0), Arcsinh((5.0, 7.0)), *SCALES])
def test_transform__parameters_are_kept_by_json(transform: Linear | Arcsinh | Logicle) -> None:
    stored = json.loads(json.dumps(transform.parameters()))
    assert stored.pop("name") in ("none", "arcsinh", "logicle")
    if isinstance(stored.get("cofactor"), list):
        stored["cofactor"] = tuple(stored["cofactor"])
    assert type(transform)(**stored) == transform


def test_linear__copies() -> None:
    values = np.array([1, 2])
    result = Linear()(values)
    assert result.tolist() == [1.0, 2.0]
    assert not np.shares_memory(result, values)
    assert Linear().inverse(result).tolist() == [1.0, 2.0]


def test_is_untransformed__names_scatter_and_time() -> None:
    linear = ["FSC-A", "ssc-w", "FSC", "FS Lin", "SS Log", "Time", "TIME", "Event_length"]
    assert all(is_untransformed(name) for name in [*linear, "FSC1-A", "Cell_length"])
    measured = ["CD3", "FITC-A", "SSEA-4", "Foxp3", "Timeless", "FScience", "FL1", "Ssb"]
    assert not any(is_untransformed(name) for name in measured)
