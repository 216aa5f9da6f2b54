"""The laws of the house: which room may import which, how long things are, and what an import does.

Modules are read as text (`ast`), so that imports inside functions and under TYPE_CHECKING count.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.laws.package_files import FILES, PACKAGE, tree_of

DASK = {"dask", "distributed", "dask_jobqueue", "dask_kubernetes"}

MOST_FILE_LINES = 600
"""More than that is two things; from 400 on it is worth a look whether it is."""

MOST_FUNCTION_LINES = 60

ALWAYS = {
    *("errors", "_version", "array_types", "purpose_seeds", "descending_order", "html_tables"),
    "missing_codes",
}
"""Constants, exceptions, array types, seeds, the order of components and small tables: for every
room."""

MAY_IMPORT = {
    # names alone, and for type checkers what they are names of
    "__init__": {"abundance", "annotation", "data", "engine", "features", "models", "testing"},
    "__main__": {"cli"},
    "errors": set(),
    "_version": set(),
    "array_types": set(),
    "purpose_seeds": set(),
    "descending_order": set(),
    "html_tables": set(),
    "missing_codes": set(),
    "termination": set(),
    "pickled_version": set(),
    "data": set(),
    "features": set(),
    # tables of samples alone: where they lie, how spreadsheets save them, and names of columns
    "abundance": {
        "data.addresses.store_address",
        "data.values.spreadsheet_text",
        "data.values.unique_names",
    },
    # what a statistic is given
    "statistics": {"features", "data.rows.block"},
    "engine": {"data", "statistics"},
    # compiled loops alone
    "decomposition": {"features.row_loops"},
    # outputs that appear when they are whole
    "store": {"data.stores", "data.addresses"},
    # what a row function is given, and the type of what a fit takes
    "models": {"features", "statistics", "decomposition", "store", "data.rows.block"}
    | {"data.rows.data_like", "pickled_version"},
    # events, which tell of the steps of a page
    "report": {"models", "store", "data", "abundance", "engine.events"},
    # the data's side of the estimators
    "accessor": set(),
    "annotation": {"data", "models", "store"},
    # the laws, for this package's tests and for models outside it
    "testing": {"data", "statistics", "engine", "store", "models"},
    "cli": {"data", "features", "statistics", "engine", "decomposition", "store", "models"}
    | {"annotation", "report", "abundance", "termination"},
}
"""The import table: a room, or one module of it, and what it may import besides itself."""

ALSO = {
    "models.contract": {"data", "engine"},
    # rows that callers give beside those of a fit
    "models.answers": {"data.rows", "data.values", "data.opening", "data.addresses"},
    "models.words": {"data.rows"},
}
"""What folders of `models` that are no model's may import besides."""

SHARED = {"contract", "answers", "words", "pilot", "gaussian", "moment_tensors"}
"""Folders of `models` that serve several models."""

MOST_FILES = 20
"""Of a folder. A folder with more of them is a list that nobody reads."""


def module_name(path: Path) -> str:
    """Return the dotted name of a file inside the package: ``data.block``, ``data``, ``store``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_name(path): path for path in FILES}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and the syntax tree of every module."""
    return ((name, tree_of(path)) for name, path in MODULES.items())


def imported_names(tree: ast.AST) -> set[str]:
    """Return the full names of all modules and objects that a module imports anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"'{ast.unparse(node)}' is relative; name the module in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def modules_in(tree: ast.AST) -> set[str]:
    """Return the modules of the package that a module imports, as in `MODULES`."""
    own = {name.removeprefix("bigtensor.") for name in imported_names(tree)}
    found = set()
    for name in own:
        parts = name.split(".")
        # the longest prefix that is a module: the rest is an object in it
        stems = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
        found |= set([stem for stem in stems if stem in MODULES][:1])
    return found


@cache
def imported_modules(module: str) -> set[str]:
    """Return the modules of the package that one of them imports."""
    return modules_in(tree_of(MODULES[module]))


def prefixes(module: str) -> set[str]:
    """Return a module and the packages that it is in."""
    parts = module.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts) + 1)}


def allowed(module: str) -> set[str]:
    """Return the rooms, folders and modules that a module may import besides its own room."""
    room = module.split(".")[0]
    also = set().union(*(ALSO.get(prefix, set()) for prefix in prefixes(module)))
    return ALWAYS | {room} | MAY_IMPORT[room] | also


def may_import(module: str, other: str) -> bool:
    """Return True if the table lets a module import another."""
    return bool(prefixes(other) & allowed(module))


def family_of(module: str) -> str | None:
    """Return the folder of the models that a module belongs to, None for shared modules."""
    room, *rest = module.split(".")
    return rest[0] if room == "models" and len(rest) > 1 and rest[0] not in SHARED else None


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_imports__follow_the_table():
    refused = {
        module: sorted(names)
        for module in MODULES
        if (names := {name for name in imported_modules(module) if not may_import(module, name)})
    }
    assert not refused, f"imports that the table refuses, by module: {refused}"


def test_table__names_every_room():
    assert {name.split(".")[0] for name in MODULES} <= set(MAY_IMPORT)


def test_table__runs_downwards():
    rooms = {
        room: {name.split(".")[0] for name in MAY_IMPORT[room]}
        for room in MAY_IMPORT
        if "." not in room
    }
    rooms["models"] |= {"data", "engine"}
    assert list(TopologicalSorter(rooms).static_order())


def test_modules__import_without_a_circle():
    graph = {name: imported_modules(name) - {name} for name in MODULES}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"circle of imports: {' -> '.join(error.args[1])}")
    assert len(order) == len(MODULES)


def test_only_the_engine__imports_dask():
    naming = {
        name
        for name, tree in trees()
        if any(DASK & {full.split(".")[0]} for full in imported_names(tree))
    }
    assert naming
    assert {name.split(".")[0] for name in naming} == {"engine"}


def zarr_calls(tree: ast.AST, names: set[str]) -> bool:
    """Return True if a module calls a function of zarr or xarray, or a method, of these names."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        for node in ast.walk(tree)
    )


def test_stores__are_opened_in_one_place():
    opening = {"open_zarr", "open_array", "open_group", "open_consolidated", "open_store"}
    assert {name for name, tree in trees() if zarr_calls(tree, opening)} == {
        "data.stores.zarr_groups",
        "data.stores.zarr_datasets",
        # what they have written themselves, and what `open_group` has opened before
        "data.stores.manifest",
        "data.stores.stored_arrays",
        "data.exporters.in_place",
        "engine.row_tasks",
    }


def test_arrays__are_created_in_one_place():
    creating = {"create_array", "create_dataset", "require_array", "to_zarr"}
    assert {name for name, tree in trees() if zarr_calls(tree, creating)} == {
        "data.stores.stored_arrays",
        # HDF5 has no checksum that every reader knows
        "data.exporters.in_place",
        "data.exporters.new_anndata",
        # variables of a Dataset, with the compressors of `stored_arrays`
        "data.stores.layout",
    }


def test_families__import_no_other_family():
    crossing = {
        (family, other)
        for name in MODULES
        if (family := family_of(name))
        for other in map(family_of, imported_modules(name))
        if other and other != family
    }
    # hidden states whose emissions are kernel mixtures, and a classifier of such models
    assert crossing == {
        ("hidden_markov", "kernel_mixture"),
        ("triple_histogram_classifier", "hidden_markov"),
        ("triple_histogram_classifier", "discrete_mixture"),
    }


def test_folders__are_short():
    files: dict[str, list[str]] = {}
    for path in FILES:
        files.setdefault(str(path.parent.relative_to(PACKAGE)), []).append(path.name)
    crowded = {folder: len(names) for folder, names in files.items() if len(names) > MOST_FILES}
    assert not crowded, (
        f"folders of more than {MOST_FILES} files: {crowded}; group the files of one step in a "
        "subfolder"
    )
    assert files["models"] == ["__init__.py"]


def test_numerical_rooms__import_without_dask_and_sklearn():
    rooms = ("features", "statistics", "decomposition")
    wanted = [f"bigtensor.{name}" for name in MODULES if name.split(".")[0] in rooms]
    assert len(wanted) > 20
    output = run_python(
        f"""
import sys
from importlib import import_module

BLOCKED = {{"dask", "distributed", "sklearn", "xarray", "zarr"}}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocker())
for name in {wanted!r}:
    import_module(name)
print(sorted(BLOCKED & set(sys.modules)))
"""
    )
    assert output.strip() == "[]"


def test_modules__import_numba_when_rows_are_computed_and_not_before():
    """It takes half a second, which commands such as info and report do without."""
    wanted = [f"bigtensor.{name}" for name in MODULES if name != "__main__"]
    output = run_python(
        f"""
import sys
from importlib import import_module

for name in {wanted!r}:
    import_module(name)
print(sorted({{"numba", "llvmlite"}} & set(sys.modules)))
"""
    )
    assert output.strip() == "[]"


def test_package__imports_nothing_and_starts_nothing():
    output = run_python(
        """
import sys, threading, warnings

# other packages may bring start-up files of their own
before = set(sys.modules)
filters, threads = list(warnings.filters), threading.active_count()
import bigtensor
heavy = {"dask", "distributed", "numba", "xarray", "sklearn", "numpy", "scipy", "zarr", "pandas"}
print(sorted(heavy & (set(sys.modules) - before)))
print(warnings.filters == filters, threading.active_count() == threads)
print(bigtensor.__version__ != "", "KernelMixture" in dir(bigtensor))
"""
    )
    assert output.split("\n")[:3] == ["[]", "True True", "True True"]


@pytest.mark.slow  # imports everything in a new process
def test_public_names__set_nothing_global():
    output = run_python(
        """
import os, threading, warnings
import numpy as np

# what the libraries themselves do at import is theirs
import dask, distributed, sklearn.base, xarray, zarr
from contextlib import suppress
with suppress(ImportError):
    import sklearn.callback
import scipy.ndimage, scipy.optimize, scipy.sparse, sklearn.utils.validation
environment, filters = dict(os.environ), list(warnings.filters)
config, threads = dict(dask.config.config), threading.active_count()
zarr_config, options = repr(zarr.config.to_dict()), dict(xarray.get_options())
state = np.random.get_state()[1].tolist()
import bigtensor
for name in bigtensor.__all__:
    getattr(bigtensor, name)
print(dict(os.environ) == environment, list(warnings.filters) == filters)
print(dict(dask.config.config) == config, threading.active_count() == threads)
print(repr(zarr.config.to_dict()) == zarr_config, dict(xarray.get_options()) == options)
print(np.random.get_state()[1].tolist() == state)
import psutil
print(len(psutil.Process().children()))
"""
    )
    assert output.split() == ["True"] * 7 + ["0"]


def test_command_line__does_not_rewrite_messages():
    """Parameters of messages are data, so that no sentence is searched for them."""
    cli = [name for name in MODULES if name.split(".")[0] == "cli"]
    searching = {name for name in cli if "re" in imported_names(tree_of(MODULES[name]))}
    # control characters, which names of files may hold
    assert searching == {"cli.output"}


BY_HAND = re.compile(r"(?<![\w$.({<])[a-z]\w*=(['\"{]|True\b|None\b|\d|\.\.\.|[);,]|$)")
"""A parameter as a call in Python has it, outside of a call."""

NOT_MESSAGES = {
    "cli",
    "testing",
    # HTML
    "html_tables",
    "engine.progress.notebook_bar",
    # reports are written for Python, whoever makes them
    "models.kernel_mixture.report.notices",
}


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield every string but docstrings, with braces for the fields of an f-string."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in alone | parts:
            yield node.value if isinstance(node.value, str) else ""


def test_messages__name_parameters_by_settings():
    """A parameter that is written into the text keeps its name of Python on the command line."""
    by_hand = {
        module: named
        for module in MODULES
        if not {module, module.split(".")[0]} & NOT_MESSAGES
        and (named := [text for text in texts(tree_of(MODULES[module])) if BY_HAND.search(text)])
    }
    assert not by_hand, f"texts that name parameters, by module; use errors.Setting: {by_hand}"


def formatted_settings(tree: ast.AST) -> list[str]:
    """Return the settings and messages that f-strings of a module format."""
    fields = [
        node
        for field in ast.walk(tree)
        if isinstance(field, ast.FormattedValue)
        for node in ast.walk(field)
    ]
    return [
        ast.unparse(node)
        for node in fields
        if (isinstance(node, ast.Name) and node.id in ("Setting", "Message"))
        or (isinstance(node, ast.Attribute) and node.attr == "message")
    ]


def test_messages__are_not_formatted_into_plain_text():
    """An f-string around a setting would be text that nobody can write for the command line."""
    formatted = {module: names for module, tree in trees() if (names := formatted_settings(tree))}
    assert not formatted, f"settings in f-strings, by module; add them with +: {formatted}"


def test_texts__are_strings_without_docstrings():
    code = '''"""With a='b' in it."""\nraise E(f"use {x!r} or k={y}" "; n='z'", "a=True")'''
    found = [*texts(ast.parse(code))]
    assert found == ["use {} or k={}; n='z'", "a=True"]
    assert all(map(BY_HAND.search, found))
    for text in (
        "say which with format=)",
        "give the next one with dataset=",
        "names in views=...",
    ):
        assert BY_HAND.search(text)
    for text in ("a == b", "call xarray.f(a='b')", "$P1B=10", "M=5, W=0", "at x >= 2"):
        assert not BY_HAND.search(text)


def test_files__are_short():
    lengths = {
        module: path.read_text(encoding="utf-8").count("\n") for module, path in MODULES.items()
    }
    long = {module: lines for module, lines in lengths.items() if lines > MOST_FILE_LINES}
    assert not long, f"files of more than {MOST_FILE_LINES} lines, each of them two things: {long}"


def test_functions__are_short():
    long = {
        f"{module}.{node.name}": length
        for module, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := code_lines(node)) > MOST_FUNCTION_LINES
    }
    assert not long, f"functions of more than {MOST_FUNCTION_LINES} lines: {long}"


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def test_imports__are_read_wherever_they_stand():
    tree = ast.parse(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from bigtensor.engine import plan\n"
        "def f():\n    import bigtensor.models.contract.run\n    from bigtensor import store\n"
    )
    assert modules_in(tree) == {"engine.plan", "models.contract.run", "store"}
    assert "typing.TYPE_CHECKING" in imported_names(tree)
