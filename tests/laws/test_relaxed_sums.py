"""Loops whose sums are taken in any order give the same bits at every call.

If the innermost loop of such a sum also writes to an array, the compiler makes two versions of the
loop: a fast one, and one for arrays that lie less than 256 bytes apart. The versions add up in
different orders, and the distance of arrays differs between processes and between calls.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator

import bigtensor
from bigtensor.features.row_loops import RowLoop


def relaxed_loops() -> Iterator[RowLoop]:
    for module in pkgutil.walk_packages(bigtensor.__path__, "bigtensor."):
        if module.name.split(".")[1] in ("statistics", "features", "decomposition"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, RowLoop) and "reassoc" in value._fast:
                    yield value


def own_steps(loop: ast.For) -> Iterator[ast.AugAssign | ast.Assign]:
    """Yield the assignments of a loop, also under conditions, but not those of loops in it."""
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        step = waiting.pop()
        if isinstance(step, ast.AugAssign | ast.Assign):
            yield step
        elif not isinstance(step, ast.For):
            waiting.extend(ast.iter_child_nodes(step))


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def sums_beside_writes(source: str) -> list[int]:
    """Return the lines of innermost loops that add up a number and write to an array.

    A loop with another loop under a condition counts, because compilers move conditions outwards. A
    running sum, whose every value is used, has one order only.
    """
    lines = []
    for loop in ast.walk(ast.parse(textwrap.dedent(source))):
        if not isinstance(loop, ast.For) or any(isinstance(step, ast.For) for step in loop.body):
            continue
        sums, used, writes = list[ast.AST](), set[str](), False
        for step in own_steps(loop):
            target = step.target if isinstance(step, ast.AugAssign) else step.targets[0]
            used |= names_in(step.value)
            if isinstance(step, ast.AugAssign) and not names_in(target) & names_in(loop.target):
                sums.append(target)
            elif isinstance(target, ast.Subscript):
                writes = True
        if writes and any(not names_in(target) <= used for target in sums):
            lines.append(loop.lineno)
    return sorted(lines)


def test_relaxed_sums__stand_beside_no_write() -> None:
    loops = {id(loop): loop for loop in relaxed_loops()}.values()
    assert len(loops) >= 6
    for loop in loops:
        assert sums_beside_writes(inspect.getsource(loop._function)) == [], loop.__name__


def test_sum_beside_a_write__is_noticed() -> None:
    source = """
    def loop(values, out, totals):
        total = 0.0
        for i in range(values.size):
            out[i] = 2 * values[i]
            total += out[i]
        for i in range(values.size):
            for j in range(values.size):
                totals[i] += values[j]
                out[j] += values[i]
        for i in range(values.size):
            total += values[i]
        for i in range(values.size):
            total += values[i]
            out[i] = total
    """
    assert sums_beside_writes(source) == [4, 8]
