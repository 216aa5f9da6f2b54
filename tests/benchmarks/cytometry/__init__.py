"""Real cells against manual gates, beside FlowSOM, Gaussian mixtures and k-means."""

from tests.benchmarks.cytometry.cells import Cells, import_activation, import_spleen

__all__ = ["Cells", "import_activation", "import_spleen"]
