"""Algorithms that ask for contractions of a tensor, whether they take a function call or a pass.

Such an algorithm is a generator: it yields columns, is sent the contraction of the tensor with
them, and returns its result.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, Terms

_Result = TypeVar("_Result")

Requests = Generator[Factors, Factors, _Result]


def answered(requests: Requests[_Result], contract: Contract) -> _Result:
    """Run an algorithm on a tensor whose contraction is a function, and return its result."""
    try:
        columns = next(requests)
        while True:
            columns = requests.send(contract(columns))
    except StopIteration as end:
        result: _Result = end.value
        return result


def less_terms(requests: Requests[_Result], terms: Terms) -> Requests[_Result]:
    """Pass the requests of an algorithm on, and answer them for the tensor less some terms."""
    try:
        columns = next(requests)
        while True:
            moments = yield columns
            if terms.n_terms:
                contraction = terms.contract(columns)
                moments = tuple(m - k for m, k in zip(moments, contraction, strict=True))
            columns = requests.send(moments)
    except StopIteration as end:
        result: _Result = end.value
        return result
