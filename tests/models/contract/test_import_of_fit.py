"""Answers refuse values that an import made in another way than those of the fit."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bigtensor
from bigtensor import GaussianMixture
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.transforms import Arcsinh
from bigtensor.errors import DataError, TransformWarning, ViewError
from bigtensor.report.rows import read_rows

MATRIX = {"channels": ["FITC", "PE"], "matrix": [[1, 0.2], [0, 1]]}
REMOVED = {"compensation": [{"spillover": MATRIX, "files": ["a.fcs"]}]}
LEFT = {"compensation": [], "uncompensated": {"channels": ["FITC", "PE"], "files": ["b.fcs"]}}


def cells(transform=(150,), **attrs):
    """Return cells of two populations as an import stores them."""
    rng = np.random.default_rng(0)
    linear = 1e3 * np.exp(rng.normal(0, 0.2, (400, 3)) + rng.integers(0, 2, 400)[:, None])
    record = {"name": "none", "untransformed": []}
    if transform:
        record = {"name": "arcsinh", "cofactor": transform[0], "untransformed": ["FSC"]}
        linear[:, 1:] = np.arcsinh(linear[:, 1:] / transform[0])
    return xr.Dataset(
        {"X": (("sample", "feature"), linear), "sample_id": ("sample", np.zeros(400, int))},
        {"feature": ["FSC", "CD3", "CD4"], "channel": ("feature", ["FSC", "FITC", "PE"])},
        {"transform": record, **attrs},
    )


@pytest.fixture(scope="module")
def model():
    return GaussianMixture(2, random_state=0).fit(cells())


DOORS = {
    "predict": lambda model, data: model.predict(data),
    "score": lambda model, data: model.score(data),
    "weights_by": lambda model, data: model.weights_by(data, "sample_id"),
    "report": read_rows,
    "list": lambda model, data: model.predict([data, data]),
}


@pytest.mark.parametrize("door", DOORS)
def test_answers__refuse_another_cofactor(model, door):
    with pytest.raises(DataError, match=r"cofactor 5\b.*cofactor 150\b.*--cofactor 150"):
        DOORS[door](model, cells((5,)))


@pytest.mark.parametrize("reverse", [False, True])
def test_answers__refuse_values_without_a_transform_that_carry_a_record(reverse):
    own, other = (cells(), cells(())) if not reverse else (cells(()), cells())
    views = {"views": {"markers": ["CD3", "CD4"]}}
    model = GaussianMixture(2, **views, random_state=0).fit(own)
    with pytest.raises(DataError, match="transform none"):
        model.predict(other)
    assert len(model.predict(other["X"])) == 400


def test_answers__compare_used_features_alone(model):
    other = cells()
    other.attrs["transform"]["untransformed"] = []
    assert len(model.predict(other)) == 400
    other.attrs["transform"]["untransformed"] = ["CD4"]
    with pytest.raises(DataError, match=r"CD4 .*without --untransformed"):
        model.predict(other)
    other.attrs["transform"]["untransformed"] = ["CD3", "CD4"]
    model = GaussianMixture(2, views={"all": ["FSC", "CD3", "CD4"]}, random_state=0).fit(cells())
    with pytest.raises(DataError, match="with --untransformed") as error:
        model.predict(other)
    # features that became linear need another option
    assert "CD3" not in str(error.value)


def test_answers__do_not_compare_cofactors_whose_features_are_not_known():
    own = cells(([150, 5],))
    model = GaussianMixture(2, views={"marker": ["CD3"]}, random_state=0).fit(own)
    for features in ([2, 0, 1], [0, 1]):
        # xarray keeps the attributes of a selection
        assert len(model.predict(own.isel(feature=features))) == 400
    with pytest.raises(DataError, match="transform logicle"):
        model.predict(own.assign_attrs(transform={"name": "logicle", "cofactor": [150, 5]}))


def test_remedies__are_those_of_the_import_of_the_fit():
    whole = {"views": {"all": ["FSC", "CD3"]}}
    model = GaussianMixture(2, **whole, random_state=0).fit(cells())
    other = cells((5,))
    other.attrs["transform"]["untransformed"] = []
    with pytest.raises(DataError, match=r"FSC, CD3 .*--like.*--cofactor 150$"):
        model.predict(other)
    of_logicle = cells().assign_attrs(transform={"name": "logicle", "T": 4e6, "untransformed": []})
    model = GaussianMixture(2, **whole, random_state=0).fit(of_logicle)
    with pytest.raises(DataError, match=r"--like") as error:
        model.predict(cells())
    assert "--transform" not in str(error.value)


def test_lists__are_compared_with_the_first_record():
    bare = cells((5,))
    bare.attrs = {}
    with pytest.raises(DataError, match=r"cofactor 150\b.*cofactor 5\b"):
        bigtensor.open_samples([bare, cells((5,)), cells()])
    model = GaussianMixture(2, random_state=0).fit([bare, cells((5,))])
    with pytest.raises(DataError, match="--cofactor 5"):
        model.predict(cells())


@pytest.mark.parametrize(
    "attrs",
    [
        {"untransformed": np.array(["FSC"])},
        {"untransformed": None},
        {"untransformed": 5},
        {"cofactor": np.array([150.0, 5.0])},
    ],
)
def test_records__of_other_programs_may_hold_anything(attrs):
    data = cells()
    data.attrs["transform"] |= attrs
    assert len(GaussianMixture(2, random_state=0).fit(data).predict(data)) == 400
    data.attrs["compensation"] = [{"spillover": {"channels": ["PE"], "matrix": [np.eye(2)]}}]
    assert bigtensor.open_samples(data).rows == 400


@pytest.mark.parametrize(("fit", "data"), [(REMOVED, LEFT), (LEFT, REMOVED)])
def test_answers__refuse_spillover_in_one_of_both(fit, data):
    model = GaussianMixture(2, random_state=0).fit(cells(**fit))
    assert len(model.predict(cells(**fit))) == 400
    with pytest.raises(DataError, match=r"CD3, CD4.*--compensate"):
        model.predict(cells(**data))


@pytest.mark.parametrize(("fit", "data"), [(REMOVED, {}), ({}, REMOVED)])
def test_answers__warn_if_files_without_a_matrix_may_be_compensated(fit, data):
    model = GaussianMixture(2, random_state=0).fit(cells(**fit))
    with pytest.warns(TransformWarning, match="no spillover matrix"):
        model.predict(cells(**data))


def test_answers__a_matrix_of_unmixed_spectra_changes_nothing():
    identity = {"channels": ["FITC", "PE"], "matrix": [[1.0, 0.0], [0.0, 1.0]]}
    model = GaussianMixture(2, random_state=0).fit(cells(**LEFT))
    data = cells(compensation=[{"spillover": identity, "files": ["a.fcs"]}])
    assert len(model.predict(data)) == 400


@pytest.mark.parametrize("attrs", [{}, {"transform": "affine"}, {"transform": {"matrix": [1]}}])
def test_answers__data_without_a_record_are_as_before(model, attrs):
    data = cells((5,))
    data.attrs = attrs
    assert len(model.predict(data)) == 400


def test_record__is_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "model.zarr")
    loaded = bigtensor.load(tmp_path / "model.zarr")
    assert loaded.import_record_ == model.import_record_
    assert loaded.import_record_.transform == {"name": "arcsinh", "cofactor": 150}
    with pytest.raises(DataError, match="--cofactor 150"):
        loaded.predict(cells((5,)))


def test_fit__refuses_a_list_of_different_imports():
    with pytest.raises(DataError, match=r"cofactor 15\b.*cofactor 150\b"):
        GaussianMixture(2, random_state=0).fit([cells(), cells((15,))])
    with pytest.raises(DataError, match="--compensate"):
        bigtensor.open_samples([cells(**REMOVED), cells(**LEFT)])
    assert bigtensor.open_samples([cells(), cells()]).rows == 800


def test_rounds__refuse_a_site_of_another_import():
    model = GaussianMixture(2, random_state=0).prepare(cells())
    assert model.accumulate(cells()).rows == 400
    with pytest.raises(DataError, match="--cofactor 150"):
        model.accumulate(cells((5,)))


def test_warm_start__refuses_data_of_another_import():
    model = GaussianMixture(2, warm_start=True, random_state=0).fit(cells())
    with pytest.raises(DataError, match="--cofactor 150"):
        model.fit(cells((5,)))
    again = model.set_params(warm_start=False).fit(cells((5,)))
    assert again.import_record_.transform["cofactor"] == 5


def test_names__of_a_panel_are_asked_for_where_both_were_imported(model):
    data = cells().assign_coords(feature=["FSC", "FITC", "PE"])
    with pytest.raises(ViewError, match="--panel") as error:
        model.predict(data)
    assert "expecting" not in str(error.value)
    with pytest.raises(ViewError) as error:
        model.predict(data["X"])
    assert "--panel" not in str(error.value)


def test_import__files_of_one_kind_get_comparable_records(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2, 300], "b": [5.0, 60, 7]})
    table.to_csv(tmp_path / "t.csv", index=False)
    for name, transform in (("one", Arcsinh(5)), ("two", Arcsinh((5.0, 5.0))), ("raw", None)):
        import_files(tmp_path / "t.csv", tmp_path / name, transform=transform)
    assert bigtensor.open_samples([tmp_path / "one", tmp_path / "two"]).rows == 6
    with pytest.raises(DataError, match=re.escape("--transform arcsinh --cofactor 5")):
        bigtensor.open_samples([tmp_path / "one", tmp_path / "raw"])
