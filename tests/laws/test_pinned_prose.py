"""The laws of the tests: an assertion names facts, and not the sentences around them.

A sentence is worded anew without a change of meaning. What a test is about is the class of an
error, and the row, the feature, the file, the parameter or the number in its message.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

PROSE_CHARACTERS = 40
PROSE_WORDS = 4
"""Fewest characters and words of prose. Two facts and ``.*`` between them take less."""

COMPARING = {"search", "match", "fullmatch", "startswith", "endswith", "count", "parametrize"}
"""Methods with expected texts. The table of `parametrize` holds those that `match` has by name."""

PINNED = {
    "cli/test_predict_into.py": 1,
    "cli/test_processes.py": 2,
    "distributed/test_bad_data.py": 6,
    "distributed/test_failures.py": 4,
    "distributed/test_worker_ends.py": 1,
    "engine/test_checkpoint.py": 1,
    "engine/clusters/test_forks.py": 2,
    "engine/test_plan.py": 5,
    "engine/test_ranges.py": 1,
    "engine/test_repeated_reads.py": 1,
    "engine/test_row_answers.py": 1,
    "engine/test_runtime.py": 2,
    "test_full_disk.py": 1,
}
"""Literals of prose by file. The numbers only fall, and a file that is not named has none."""


def literal_texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of all strings in a node, with braces for fields of an f-string."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(map(str, parts))
    elif isinstance(node, ast.Constant):
        yield from [(node.lineno, node.value)] if isinstance(node.value, str) else []
    else:
        for child in ast.iter_child_nodes(node):
            yield from literal_texts(child)


def expectations(node: ast.AST) -> list[ast.expr]:
    """Return the expressions of a node that may hold expected texts."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if not isinstance(node, ast.Call):
        return []
    named = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return named + (node.args if method in COMPARING else [])


def is_prose(text: str) -> bool:
    """Return True for a text of many characters and several words."""
    words = re.findall(r"\b[A-Za-z][a-z]+\b", text)
    return len(" ".join(text.split())) >= PROSE_CHARACTERS and len(words) >= PROSE_WORDS


def pinned_prose(tree: ast.AST) -> list[tuple[int, str]]:
    """Return line and text of the prose that a module of tests compares with."""
    texts = {
        literal
        for node in ast.walk(tree)
        for expression in expectations(node)
        for literal in literal_texts(expression)
    }
    return sorted((line, text) for line, text in texts if is_prose(text))


def test_tests__pin_no_more_prose():
    pinned = {
        path.relative_to(TESTS).as_posix(): pinned_prose(
            ast.parse(path.read_text(encoding="utf-8"))
        )
        for path in sorted(TESTS.rglob("*.py"))
    }
    more = [
        f"tests/{name}:{line} {text!r}"
        for name, texts in pinned.items()
        if len(texts) > PINNED.get(name, 0)
        for line, text in texts
    ]
    assert not more, (
        "assert the facts in these sentences instead, such as match='row 17.*CD3':\n"
        + "\n".join(more)
    )


def test_prose__is_read_wherever_it_is_compared():
    sentence = "the rows of the data are fewer than all of the components"
    for code in (
        f"raises(E, match={sentence!r})",
        f"assert {sentence!r} in str(error)",
        f"assert str(error) == f'{{name}}: {sentence}'",
        f"assert text.startswith({sentence!r})",
        f"mark.parametrize('words', [(1, {sentence!r})])",
    ):
        assert [line for line, _ in pinned_prose(ast.parse(code))] == [1], code
    for code in (
        f"write({sentence!r})",
        "raises(E, match='row 17 .*CD3.* 2 of 3 components')",
        "assert names == 'CD3, CD4, CD8, CD19, CD45, CD56, CD127'",
    ):
        assert not pinned_prose(ast.parse(code)), code
