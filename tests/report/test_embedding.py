"""Map of the rows by principal components, and heatmap of medians."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from bigtensor.data.opening import open_samples
from bigtensor.models.kernel_mixture.report.median_heatmap import quantiles, similar_order
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.report.embedding import (
    MOST_UMAP_ROWS,
    embedding_section,
    principal_components,
    scaled_features,
)
from tests.report.labelled_rows import rows_of


def test_principal_components__are_those_of_scikit_learn():
    drawn = np.random.default_rng(1)
    values = drawn.normal(size=(400, 5)) @ drawn.normal(size=(5, 5)) + 3
    places, shares = principal_components(values)
    pca = PCA(2).fit(values)
    np.testing.assert_allclose(np.abs(places), np.abs(pca.transform(values)), rtol=1e-8)
    np.testing.assert_allclose(shares, pca.explained_variance_ratio_, rtol=1e-10)
    flipped, _ = principal_components(values[::-1])
    np.testing.assert_allclose(flipped[::-1], places, rtol=1e-8)


def test_embedding_section__is_for_measured_rows_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    values = np.random.default_rng(2).integers(0, 3, (60, 4))
    label = np.arange(60) % 2
    level = LabelLevel("component", np.full(2, 0.5), np.full(2, 0.5))
    for kind, sections in ((np.float64, 1), (np.int32, 0)):
        rows = replace(
            rows_of(label, np.ones(60)),
            values=values.astype(kind),
            samples=open_samples(values.astype(kind)),
        )
        assert len(embedding_section(level, rows)) == sections


@pytest.mark.parametrize("installed", [True, False])
def test_embedding_section__says_which_map_it_is(monkeypatch, installed):
    made = []

    class UMAP:
        def __init__(self, neighbours, **parameters):
            assert parameters["random_state"] == 0
            made.append(neighbours)

        def fit_transform(self, values):
            return values[:, :2]

    module = SimpleNamespace(UMAP=UMAP) if installed else None
    monkeypatch.setitem(sys.modules, "umap", module)
    count = 3 * MOST_UMAP_ROWS
    values = np.random.default_rng(2).normal(size=(count, 4))
    rows = replace(rows_of(np.arange(count) % 2, np.ones(count)), values=values)
    level = LabelLevel("component", np.full(2, 0.5), np.full(2, 0.5), names=("B cells", "1"))
    (section,) = embedding_section(level, rows)
    figure = section.blocks[1].blocks[0]
    assert figure.label_names == ("B cells", "1")
    if installed:
        assert made == [15]
        assert len(figure.x) == len(figure.label) == MOST_UMAP_ROWS
        assert figure.names == ("UMAP 1", "UMAP 2")
        assert "UMAP" in section.blocks[0].text
    else:
        assert len(figure.x) == count
        assert "principal component" in figure.names[0]
        assert "principal components" in section.blocks[0].text


def test_scaled_features__cut_off_outliers_and_leave_constants_out():
    values = np.column_stack([np.linspace(0, 1, 201), np.ones(201), np.linspace(5, 7, 201)])
    values[0, 0] = -1e6
    scaled = scaled_features(values)
    assert scaled.shape == (201, 2)
    assert (scaled.min(), scaled.max()) == (0, 1)
    assert scaled[100, 0] == pytest.approx(0.5, abs=0.02)


def test_quantiles__of_a_normal_density():
    points = np.linspace(-8, 8, 2001)
    density = np.exp(-0.5 * (points[:, None] - [0, 1.5]) ** 2)
    np.testing.assert_allclose(quantiles(points, density, 0.5), [0, 1.5], atol=0.01)
    np.testing.assert_allclose(quantiles(points, density, 0.975)[0], 1.96, atol=0.01)


def test_similar_order__brings_similar_rows_together():
    rows = np.array([[0.0], [1.0], [0.1], [0.9], [0.05]])
    order = similar_order(rows)
    sides = rows[order, 0] > 0.5
    assert np.count_nonzero(sides[1:] != sides[:-1]) == 1
    assert similar_order(rows[:2]).tolist() == [0, 1]
