"""Syntax of conditions on rows: from text to a tree of comparisons. No text is ever executed.

Grammar, in which ``{ }`` repeats and ``[ ]`` is optional::

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = "(" condition ")"
                | name [ "not" ] "in" "[" value { "," value } [ "," ] "]"
                | operand ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) operand { ... }
                | name
    operand     = name | value
    value       = [ "-" | "+" ] number | text | "True" | "False"

A name is made of letters, digits and underscores and begins with no digit. All other names stand in
backticks. Text stands in single or double quotes, in which a backslash precedes a quote or a
backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from bigtensor.errors import ConditionError, ParameterError, Setting

MOST_CHARACTERS = 10_000
"""Longest condition: a list of a thousand names. Longer text is a file given by mistake."""

MOST_DEPTH = 50
"""Deepest nesting of parentheses and ``not``: the parser calls itself for each of them."""

_SHOWN = 80
"""Longest condition that a message repeats in full."""

_KEYWORDS = ("and", "or", "not", "in")

_TRUTH_VALUES = {"True": True, "False": False}
"""Words for values of variables of true and false."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>`[^`]+`)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<operator>==|!=|<=|>=|<|>)
    |(?P<mark>[()\[\],+-])""",
    re.VERBOSE | re.DOTALL,
)

_INSTEAD = {
    "=": "values are compared with ==",
    "&": "conditions are joined by the word and",
    "|": "conditions are joined by the word or",
    "!": "a condition is negated by the word not",
    "~": "a condition is negated by the word not",
    '"': "the text has no closing quote",
    "'": "the text has no closing quote",
    "`": "the name has no closing backtick",
}
"""Remedies for characters that other languages have."""

_NOT_EQUAL_OF_SQL = "<>"

_WORDS_FOR_MISSING = ("null", "none", "nan")
"""Words by which other languages select missing values, alone or after ``is``."""

_BACKTICKS = "names with a space or another sign stand in backticks, such as `FSC-A`"


@dataclass(frozen=True)
class Variable:
    """A feature or a variable of the rows, and its place in the text."""

    name: str
    place: int


@dataclass(frozen=True)
class Value:
    """A number, a text, True or False, and its place in the text of the condition."""

    value: bool | int | float | str
    place: int


Operand: TypeAlias = Variable | Value


@dataclass(frozen=True)
class Comparison:
    """One comparison of two operands."""

    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True)
class Membership:
    """True where a variable has one of several values, or none of them if it is negated."""

    variable: Variable
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True)
class Flag:
    """True where a variable of true and false is true."""

    variable: Variable


@dataclass(frozen=True)
class Negation:
    """True where a condition is false."""

    part: Tree


@dataclass(frozen=True)
class Conjunction:
    """True where all parts are true."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Disjunction:
    """True where a part is true."""

    parts: tuple[Tree, ...]


Tree: TypeAlias = Comparison | Membership | Flag | Negation | Conjunction | Disjunction


def parse_condition(text: str) -> Tree:
    """Return the tree of a condition.

    Parameters
    ----------
    text : str
        See the grammar of this module.

    Raises
    ------
    ConditionError
        When the text is no condition. The message names the place.
    ParameterError
        When it is no text, or too long.

    Examples
    --------
    >>> parse_condition("CD3 > 2")
    Comparison(left=Variable(name='CD3', place=0), operator='>', right=Value(value=2, place=6))
    """
    if not isinstance(text, str):
        raise ParameterError(
            Setting("where") + f" is {type(text).__name__}; give a text such as 'CD45 > 2'"
        )
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(
            f"the condition has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are "
            "read; keep a long list as a variable of the rows (bigtensor add)"
        )
    return _Parser(text).whole()


def variables_in(tree: Tree) -> tuple[Variable, ...]:
    """Return every use of a variable in a tree, in the order of the text."""
    if isinstance(tree, Comparison):
        return tuple(side for side in (tree.left, tree.right) if isinstance(side, Variable))
    if isinstance(tree, Membership | Flag):
        return (tree.variable,)
    parts = (tree.part,) if isinstance(tree, Negation) else tree.parts
    return tuple(variable for part in parts for variable in variables_in(part))


def condition_error(text: str, place: int, reason: str) -> ConditionError:
    """Return the error of a condition, which shows the place.

    Parameters
    ----------
    text : str
        The condition.
    place : int
        Index of the character.
    reason : str
        What is wrong there, and the remedy.
    """
    shown = text
    if len(text) > _SHOWN:
        first = max(0, place - _SHOWN // 2)
        shown = f"...{text[first : first + _SHOWN]}..."
    where = "at its end" if place >= len(text) else f"at character {place + 1}"
    rest = text[place:].split()
    if rest:
        where += f" ({rest[0][:30]!r})"
    return ConditionError(f"the condition {shown!r} {where}: {reason}")


def missing_remedy(word: str, name: str) -> str:
    """Return how missing values are selected, if a word stands for them in other languages.

    Parameters
    ----------
    word : str
        Word that cannot be read.
    name : str
        Variable that the word is compared with, as a condition holds it.
    """
    if word.lower() not in _WORDS_FOR_MISSING:
        return ""
    return (
        f"rows with a missing value are selected by 'not {name} == {name}', and all other rows by "
        f"'{name} == {name}'"
    )


@dataclass(frozen=True)
class _Token:
    """A word of the text: its kind, its characters and its place."""

    kind: str
    text: str
    place: int


def _tokens(text: str) -> Iterator[_Token]:
    """Cut a text into words."""
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if text.startswith(_NOT_EQUAL_OF_SQL, place):
            raise condition_error(text, place, "values that differ are compared with !=")
        if match is None:
            raise condition_error(text, place, _INSTEAD.get(text[place], _BACKTICKS))
        kind, word = str(match.lastgroup), match.group()
        if kind == "number" and re.match(r"\w", text[match.end() : match.end() + 1]):
            raise condition_error(
                text, place, "names that begin with a digit stand in backticks, such as `7-AAD`"
            )
        if kind == "name" and word in _KEYWORDS:
            kind = "keyword"
        if kind != "space":
            yield _Token(kind, word, place)
        place = match.end()
    yield _Token("end", "", len(text))


class _Parser:
    """Recursive descent over the words of a condition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.position = 0
        self.depth = 0

    def whole(self) -> Tree:
        """Read the condition up to the end of the text."""
        tree = self.condition()
        if self.next.kind != "end":
            raise self.error(self._after_condition())
        return tree

    def _after_condition(self) -> str:
        """Return why the words after a condition cannot be read."""
        previous = self.tokens[self.position - 1]
        before = previous.kind
        for token in (self.next, previous):
            if token.kind == "name" and token.text.lower() in _KEYWORDS:
                return f"the word {token.text.lower()} is written in small letters"
        if self.next.kind == "name" and (remedy := self._comparison_of_sql(previous.text)):
            return remedy
        if before in ("name", "quoted") and (
            self.next.kind in ("name", "quoted", "number") or self.next.text in "+-"
        ):
            return f"a comparison, 'and', 'or' or the end is expected; {_BACKTICKS}"
        if self.next.kind == "operator":
            return "names and values are compared, and no conditions; leave the parentheses out"
        return "'and', 'or' or the end is expected"

    def _comparison_of_sql(self, name: str) -> str:
        """Return the comparison for ``is``, or for a word that stands for missing values."""
        words = [token.text.lower() for token in self.tokens[self.position : self.position + 3]]
        if words[0] != "is":
            return missing_remedy(words[0], name)
        word = words[-1] if words[1] == "not" else words[1]
        return missing_remedy(word, name) or "values are compared with == or !="

    @property
    def next(self) -> _Token:
        """The word that is read next."""
        return self.tokens[self.position]

    def error(self, reason: str) -> ConditionError:
        """Return the error at the next word."""
        return condition_error(self.text, self.next.place, reason)

    def take(self, *texts: str) -> _Token | None:
        """Return the next word and pass it, if it is a mark, an operator or a keyword of these."""
        token = self.next
        if token.kind in ("mark", "operator", "keyword") and token.text in texts:
            self.position += 1
            return token
        return None

    def condition(self) -> Tree:
        """Read conjunctions that are joined by ``or``."""
        parts = [self.conjunction()]
        while self.take("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Disjunction(tuple(parts))

    def conjunction(self) -> Tree:
        """Read negations that are joined by ``and``."""
        parts = [self.negation()]
        while self.take("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else Conjunction(tuple(parts))

    def negation(self) -> Tree:
        """Read a comparison, negated or not."""
        if self.next.text in ("not", "(") and self.next.kind in ("keyword", "mark"):
            if self.depth == MOST_DEPTH:
                raise self.error(f"at most {MOST_DEPTH} parentheses and 'not' may be nested")
            self.depth += 1
            tree = self.nested()
            self.depth -= 1
            return tree
        return self.comparison()

    def nested(self) -> Tree:
        """Read a condition after ``not`` or in parentheses."""
        if self.take("not"):
            return Negation(self.negation())
        self.take("(")
        tree = self.condition()
        if not self.take(")"):
            raise self.error(f"a closing ) is expected; {self._after_condition()}")
        return tree

    def comparison(self) -> Tree:
        """Read operands and what compares them."""
        left = self.operand()
        if self.take("in"):
            return self.membership(left, negated=False)
        if self.next.text == "not" and self.tokens[self.position + 1].text == "in":
            self.position += 2
            return self.membership(left, negated=True)
        comparisons: list[Tree] = []
        while operator := self.take("==", "!=", "<=", ">=", "<", ">"):
            right = self.operand()
            comparisons.append(Comparison(left, operator.text, right))
            left = right
        if comparisons:
            return comparisons[0] if len(comparisons) == 1 else Conjunction(tuple(comparisons))
        if isinstance(left, Value):
            raise self.error("the value is compared with nothing; write a name and a comparison")
        return Flag(left)

    def membership(self, left: Operand, *, negated: bool) -> Membership:
        """Read the list after ``in``."""
        if not isinstance(left, Variable):
            raise condition_error(self.text, left.place, "the name of a variable precedes 'in'")
        if not self.take("["):
            raise self.error('a list in brackets follows \'in\', such as ["a", "b"]')
        values: list[Value] = []
        while not self.take("]"):
            value = self.operand()
            if isinstance(value, Variable):
                raise condition_error(
                    self.text, value.place, "a list holds numbers, and texts in quotes"
                )
            values.append(value)
            if not self.take(",") and self.next.text != "]":
                raise self.error("a comma or the closing ] is expected")
        if not values:
            raise self.error("the list before is empty; name at least one value")
        return Membership(left, tuple(values), negated)

    def operand(self) -> Operand:
        """Read a name, a number or a text."""
        sign = self.take("-", "+")
        token = self.next
        if sign is None and token.kind == "name" and token.text in _TRUTH_VALUES:
            self.position += 1
            return Value(_TRUTH_VALUES[token.text], token.place)
        if sign is None and token.kind in ("name", "quoted"):
            self.position += 1
            return Variable(token.text.strip("`"), token.place)
        if sign is None and token.kind == "text":
            self.position += 1
            return Value(re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL), token.place)
        if token.kind == "number":
            self.position += 1
            place = token.place if sign is None else sign.place
            return Value(self._number(token, negative=sign is not None and sign.text == "-"), place)
        if sign is not None:
            raise self.error("a number follows a sign")
        raise self.error("a name, a number or a text in quotes is expected")

    def _number(self, token: _Token, *, negative: bool) -> int | float:
        """Return the value of a number, whole numbers as such."""
        digits = token.text.replace("_", "")
        value = float(digits)
        if value == float("inf"):
            raise condition_error(self.text, token.place, "the number is too large")
        # beyond 2 ** 63 no integer of NumPy is compared exactly
        number = int(digits) if digits.isdecimal() and value < 2**63 else value
        return -number if negative else number
