import anndata
import numpy as np
import pytest

from bigtensor.abundance.differential import differential_abundance
from bigtensor.abundance.exports import diffcyt_tables, samples_with_conditions, to_anndata
from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.abundance.tables import comparison_rows, share_rows

COUNTS = np.array([[900, 80, 20], [800, 195, 5], [910, 75, 15], [880, 40, 80], [850, 52, 98]])
NAMES = ["s10", "s9", "s2", "s1", "s3"]
SAMPLES = {"file": [f"{name}.fcs" for name in NAMES], "arm": [*"bbaaa"], "age": [30, 41, 5, 6, 7]}


@pytest.fixture
def weights():
    return weights_of_counts(COUNTS, NAMES, ["B", "T", "NK"])


def test_share_rows__have_conditions_counts_and_errors_in_natural_order(weights):
    head, *rows = share_rows(*samples_with_conditions(weights, SAMPLES))
    assert head == [
        *(
            "sample_id",
            "arm",
            "age",
            "rows",
            "population",
            "estimated_count",
            "share",
            "standard_error",
        )
    ]
    assert [row[0] for row in rows[::3]] == ["s1", "s2", "s3", "s9", "s10"]
    assert rows[0][:7] == ["s1", "a", "6", 1000, "B", 880, pytest.approx(0.88)]
    assert rows[0][7] == pytest.approx(np.sqrt(0.88 * 0.12 / 1000))


def test_comparison_rows__have_a_row_for_every_contrast(weights):
    result = differential_abundance(weights, SAMPLES, "arm")
    head, *rows = comparison_rows(result)
    assert len(rows) == 3
    line = dict(zip(head, rows[2], strict=True))
    assert line["population"] == "NK"
    assert line["contrast"] == "b against a"
    assert line["odds_ratio"] == pytest.approx(np.exp(line["log_odds_ratio"]))
    assert line["lower"] < line["log_odds_ratio"] < line["upper"]
    assert line["share_b"] == pytest.approx(0.0125)
    head, *rows = comparison_rows(differential_abundance(weights, SAMPLES, "age"))
    assert "share_b" not in head


def test_diffcyt_tables__are_those_of_calc_counts(weights):
    counts, experiment_info = diffcyt_tables(weights, SAMPLES)
    assert counts[0] == ["cluster_id", "n_cells", "s1", "s2", "s3", "s9", "s10"]
    assert counts[3] == ["NK", 218, 80, 15, 98, 5, 20]
    assert experiment_info[0] == ["sample_id", "arm", "age"]
    assert [row[0] for row in experiment_info[1:]] == counts[0][2:]
    assert experiment_info[4] == ["s9", "b", "41"]


def test_to_anndata__has_counts_and_conditions_of_samples(weights):
    adata = to_anndata(weights, SAMPLES)
    assert adata.obs_names.tolist() == ["s1", "s2", "s3", "s9", "s10"]
    assert adata.var_names.tolist() == ["B", "T", "NK"]
    np.testing.assert_array_equal(adata.X.sum(axis=1), 1000)
    np.testing.assert_array_equal(adata.X[4], COUNTS[0])
    assert adata.obs["arm"].tolist() == [*"aaabb"]
    assert adata.obs["age"].dtype == float
    assert adata.obs["n_cells"].tolist() == [1000] * 5


def test_to_anndata__keeps_every_condition(weights, tmp_path):
    samples = SAMPLES | {
        "n_cells": [1, 2, 3, 4, 5],
        "_index": [*"vwxyz"],
        "dose": [0.5, None, "", 2, 1],
        "absent": [None] * 5,
        "drug/day": [*"12345"],
        "": [*"abcde"],
    }
    to_anndata(weights, samples).write_h5ad(tmp_path / "counts.h5ad")
    obs = anndata.read_h5ad(tmp_path / "counts.h5ad").obs
    assert obs["n_cells"].tolist() == [1000] * 5
    assert obs["n_cells_2"].tolist() == [4, 3, 5, 2, 1]
    assert obs["_index_2"].tolist() == [*"yxzwv"]
    np.testing.assert_array_equal(obs["dose"].to_numpy(float), [2, np.nan, 1, np.nan, 0.5])
    assert obs["dose"].dtype == float
    assert obs["absent"].isna().all()
    assert obs["drug_day"].tolist() == [4, 3, 5, 2, 1]
    assert obs["unnamed"].tolist() == [*"dceba"]
