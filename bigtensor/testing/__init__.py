"""Laws of statistics, row functions and models, for models inside and outside the package.

The engine relies on these laws. ``check_statistic``, ``check_row_function`` and ``check_model``
hold an object to all laws of its kind. The tuples ``STATISTIC_LAWS``, ``ROW_FUNCTION_LAWS`` and
``MODEL_LAWS`` list the laws one by one, as functions of a case, for a parametrised test. A law that
is broken raises an AssertionError with the name of the law and the numbers.
"""

from bigtensor.testing.cases import ModelCase, RowFunctionCase, StatisticCase
from bigtensor.testing.model_laws import MODEL_LAWS, check_model
from bigtensor.testing.row_function_laws import ROW_FUNCTION_LAWS, check_row_function
from bigtensor.testing.small_data import small_data
from bigtensor.testing.statistic_laws import STATISTIC_LAWS, check_statistic

__all__ = [
    "MODEL_LAWS",
    "ROW_FUNCTION_LAWS",
    "STATISTIC_LAWS",
    "ModelCase",
    "RowFunctionCase",
    "StatisticCase",
    "check_model",
    "check_row_function",
    "check_statistic",
    "small_data",
]
