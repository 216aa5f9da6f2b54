"""Laws of answers for every row: order of rows and features, containers, lazy data."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bigtensor.models.contract.opening_for_answers import open_for_answers
from bigtensor.statistics.base import RowFunction, SequenceFunction
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.comparison import require
from bigtensor.testing.model_runs import model_law, require_close_answers
from bigtensor.testing.row_function_laws import check_row_function

if TYPE_CHECKING:
    from anndata import AnnData


@model_law
def answers_have_one_entry_for_every_row(case: ModelCase) -> None:
    """Assert that answers are arrays with the rows first, and lack no entry."""
    for name, answer in case.fitted_answers.items():
        require(
            answer.ndim >= 1 and len(answer) == case.rows, f"{name} has the shape {answer.shape}"
        )
        bad = np.isnan(answer) if answer.dtype.kind == "f" else np.zeros(answer.shape, bool)
        require(not bad.any(), f"{name} has {int(bad.sum())} missing entries")


@model_law
def answers_move_with_their_rows(case: ModelCase) -> None:
    """Assert that the answer for a row does not depend on the rows around it."""
    if case.in_order:
        return
    order = np.random.default_rng(0).permutation(case.rows)
    permuted = {name: answer[order] for name, answer in case.fitted_answers.items()}
    answers = case.answers_of(case.fitted, case.data[order])
    require_close_answers(answers, permuted, case, "answers for permuted rows")
    few = case.rows // 3
    head = {name: answer[:few] for name, answer in case.fitted_answers.items()}
    answers = case.answers_of(case.fitted, case.data[:few])
    require_close_answers(answers, head, case, "answers for the first rows alone")


@model_law
def labelled_features_are_found_by_name(case: ModelCase) -> None:
    """Assert that labelled features may come in any order."""
    if not case.is_labelled:
        return
    answers = case.answers_of(case.fitted, case.data[:, ::-1])
    require_close_answers(answers, case.fitted_answers, case, "answers for permuted features")


@model_law
def lazy_data_give_lazy_answers(case: ModelCase) -> None:
    """Assert that answers for chunked data are not computed until they are asked for."""
    if not case.is_labelled:
        return
    chunked = case.data.chunk({case.data.dims[0]: max(1, case.rows // 3)})
    for name in case.methods:
        for data, container in ((chunked, xr.DataArray), (chunked.data, type(chunked.data))):
            if container is not xr.DataArray and case.samples.kind == "codes":
                # a graph of integers has no names of its codes
                continue
            answer = getattr(case.fitted, name)(data)
            require(isinstance(answer, container), f"{name} of {container} is {type(answer)}")
            require(bool(answer.chunks), f"{name} of chunked data is computed")
            computed, expected = {name: np.asarray(answer)}, {name: case.fitted_answers[name]}
            require_close_answers(computed, expected, case, "answers for chunked data")


@model_law
def containers_in_are_containers_out(case: ModelCase) -> None:
    """Assert that answers are labelled where the data are, and NumPy arrays where they are not."""
    for name in case.methods:
        answer = getattr(case.fitted, name)(case.data)
        if not case.is_labelled:
            require(type(answer) is np.ndarray, f"{name} of a CSR array is {type(answer)}")
            continue
        _require_labelled(case, name, answer)
        _require_labelled(case, name, getattr(case.fitted, name)(_dataset(case.data)))
    if case.is_labelled and case.make().views is None:
        model = case.make().fit(case.data.to_numpy())
        for name in case.methods:
            answer = getattr(model, name)(case.data.to_numpy())
            require(type(answer) is np.ndarray, f"{name} of a NumPy array is {type(answer)}")


@model_law
def answers_keep_the_names_of_their_rows(case: ModelCase) -> None:
    """Assert that answers have the coordinates along the samples, or the ``obs_names`` of AnnData.

    AnnData are tried if the library is installed.
    """
    names = [f"row{row}" for row in range(case.rows)]
    if case.is_labelled:
        dim = case.data.dims[0]
        group = (dim, np.arange(case.rows) % 3)
        named = case.data.assign_coords({dim: names, "group": group})
        for data in (named, _dataset(named), named.chunk({dim: max(1, case.rows // 3)})):
            for name in case.methods:
                answer = getattr(case.fitted, name)(data)
                kept = {key for key, coord in answer.coords.items() if coord.dims == (dim,)}
                if dim in answer.dims:
                    require(kept == {dim, "group"}, f"{name} keeps the coordinates {kept}")
    if find_spec("anndata") is None:
        return
    for name in case.methods:
        answer = getattr(case.fitted, name)(_anndata(case, names))
        dim = case.fitted.sample_dim
        require(isinstance(answer, xr.DataArray), f"{name} of AnnData is {type(answer)}")
        require_close_answers(
            {name: answer.to_numpy()},
            {name: case.fitted_answers[name]},
            case,
            "answers for AnnData",
        )
        if dim in answer.dims:
            require(answer.indexes[dim].tolist() == names, f"{name} of AnnData has other names")


@model_law
def row_functions_obey_their_laws(case: ModelCase) -> None:
    """Assert that the functions behind the answers obey the laws of row functions.

    A function of sequences answers with messages of other rows, and is held to chunks of any size.
    """
    model: Any = type(case.fitted).from_contents(case.fitted.to_contents())
    make, used = model.row_function, []

    def watched(outputs: tuple[str, ...]) -> RowFunction:
        function: RowFunction = make(outputs)
        used.append(function)
        return function

    model.row_function = watched
    case.answers_of(model, case.data)
    samples = open_for_answers(model, case.data)
    for function in used:
        if isinstance(function, SequenceFunction):
            continue
        check_row_function(function, samples, rtol=case.rtol)


ANSWER_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    answers_have_one_entry_for_every_row,
    answers_move_with_their_rows,
    labelled_features_are_found_by_name,
    lazy_data_give_lazy_answers,
    containers_in_are_containers_out,
    answers_keep_the_names_of_their_rows,
    row_functions_obey_their_laws,
)


def _dataset(data: xr.DataArray) -> xr.Dataset:
    """Return a data set with the values as its variable."""
    return data.rename("X").to_dataset()


def _anndata(case: ModelCase, names: list[str]) -> AnnData:
    """Return the data as AnnData, with names of the observations."""
    from anndata import AnnData

    values: Any = case.data
    features = [f"x{column}" for column in range(values.shape[1])]
    if case.is_labelled:
        features = [str(feature) for feature in values[values.dims[1]].values]
        values = values.to_numpy()
    data = AnnData(values)
    data.obs_names, data.var_names = names, features
    return data


def _require_labelled(case: ModelCase, name: str, answer: xr.DataArray) -> None:
    """Raise an AssertionError unless an answer is a labelled array in memory."""
    require(isinstance(answer, xr.DataArray), f"{name} of labelled data is {type(answer)}")
    first = case.data.dims[0]
    require(answer.dims[0] == first, f"{name} has the dimensions {answer.dims}, expected {first}")
    require(answer.chunks is None, f"{name} of data in memory is lazy")
    require_close_answers(
        {name: answer.to_numpy()}, {name: case.fitted_answers[name]}, case, "labelled answers"
    )
