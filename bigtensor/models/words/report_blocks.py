"""Parts that a report is laid out from: notices, words, tables, groups of these, sections.

A model says with them what a report tells of it; `bigtensor.report` draws them as a page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bigtensor.models.words.report_figures import Figure


@dataclass(frozen=True)
class Notice:
    """Sentences at the top of the page that a reader should know.

    Attributes
    ----------
    level : {"good", "note", "warning"}
        Severity of the notice.
    text : str
        Whole sentences.
    """

    level: Literal["good", "note", "warning"]
    text: str


@dataclass(frozen=True)
class Words:
    """A paragraph.

    Attributes
    ----------
    text : str
        Whole sentences.
    style : {"lead", "plain", "verbatim"}
        ``"lead"`` says how to read what follows, ``"verbatim"`` keeps spaces and line ends.
    """

    text: str
    style: Literal["lead", "plain", "verbatim"] = "lead"

    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
        Word or number that the cell shows.
    shade : float
        Strength of the background, 0 to 1.
    wide : bool
        True for so much text that its lines are broken.
    colour : int, optional
        Number of a component, or population, whose colour the cell shows.
    below : str
        Second line in small letters, such as the markers of a population.
    """

    text: str
    shade: float = 0.0
    wide: bool = False
    colour: int | None = None
    below: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its heading.

    Attributes
    ----------
    header : tuple of str
        The first names the rows.
    rows : tuple of tuples of Cell
        Cells of every row, as many as the header has.
    caption : str
        Whole sentences that say how to read it.
    matrix : bool
        True for a table of many narrow columns.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    matrix: bool = False

    kind: ClassVar[str] = "table"


Layout = Literal[
    "stacked", "beside", "wide", "narrow", "halves", "scroll", "folded", "prose", "map"
]
"""Way to place the blocks of a group."""


@dataclass(frozen=True)
class Group:
    """Blocks that belong together.

    Attributes
    ----------
    blocks : tuple of Block
        Blocks in the order of the page.
    title : str
        Heading; of folded blocks the line that unfolds them.
    layout : {"stacked", "beside", "wide", "narrow", "halves", "scroll", "folded", "prose", "map"}
        One below the other, two beside each other, wide or narrow ones beside each other as far as
        there is room, halves of a wide page, wider than the page, folded up, sentences in columns,
        or one large figure.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    layout: Layout = "stacked"

    kind: ClassVar[str] = "group"


Block = Words | Table | Group | Figure
"""A part of a section."""


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    name : str
        Anchor in the page, distinct from those of all other sections.
    title : str
        Heading of the section.
    blocks : tuple of Block
        Blocks in the order of the page.
    short : str
        Title in the table of contents; by default the title.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True)
class Column:
    """A column of the table of all components, or populations.

    Attributes
    ----------
    title : str
        Heading of the column.
    texts : tuple of str
        One for every component or population, at the level of the labels.
    wide : bool
        True for a text that describes the component. It stands below its number.
    """

    title: str
    texts: tuple[str, ...]
    wide: bool = False


@dataclass(frozen=True)
class ReportParts:
    """Parts of the report that only the model knows. All are optional.

    Attributes
    ----------
    notices : tuple of Notice
        Notices on the end of the fit and its doubts.
    headline : tuple of (name, figure)
        Further figures of the page's head.
    axes : tuple of two str
        Names of the rows and of the features in the page's head.
    method : tuple of str
        Sentences on how the model was fitted.
    columns : tuple of Column
        Further columns of the table of components, or populations.
    columns_lead : str
        Sentences that say how to read these columns.
    overview : tuple of Block
        Shown beside the table of components, or populations, on the first screen. By default their
        weights are shown as bars.
    sections : tuple of Section
        Shown after those of all mixtures that need labels, and before those of known classes.
    diagnostics : tuple of Block
        Shown first in the section of this name.
    """

    notices: tuple[Notice, ...] = ()
    headline: tuple[tuple[str, str], ...] = ()
    axes: tuple[str, str] = ("rows", "features")
    method: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    columns_lead: str = ""
    overview: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    diagnostics: tuple[Block, ...] = ()
