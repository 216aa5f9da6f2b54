"""Style of figures: colours that most eyes tell apart, and settings that leave no trace."""

from __future__ import annotations

import base64
import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#1f2933"
MUTED = "#7b8794"
FAINT = "#d9dee3"

_DOTS_AN_INCH = 144
"""Resolution of bitmaps."""

LETTERS_AN_INCH = 22
"""Letters of the names of ticks."""

_LETTERS_OF_NAME = 28
"""Letters of the name of a population in a figure. Tables have whole names."""

LETTERS_OF_FEATURE = 40
"""Letters of the name of a feature in a figure. They fit in the title of a narrow figure."""

_LETTERS_OF_LABEL, _LINES_OF_LABEL = 34, 3
"""Letters in a line of the label of an axis, for figures three inches high, and lines."""

# Hues after Okabe and Ito (2008) without black and yellow, and two after Tol (2021, "muted").
_HUES = ("0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9", "882255", "999933")
_TIERS = ((0x00, 0.0), (0x00, 0.42), (0xFF, 0.5))
"""Grey that the hues are mixed with, and its part: none, black for darker, white for lighter."""

_SETTINGS: dict[str, Any] = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "bigtensor",
    "text.color": INK,
    # names of channels hold dollar signs, which are no mathematics
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}


def require_matplotlib() -> None:
    """Raise unless matplotlib can be imported.

    Raises
    ------
    MissingDependencyError
    """
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "figures need matplotlib, which is not installed; pip install 'bigtensor[report]'"
        ) from error


@contextmanager
def report_style() -> Iterator[None]:
    """Use the settings of the report, whatever the user's own, and put those back afterwards."""
    require_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", _SETTINGS]):
        yield


def empty_figure(width: float, height: float) -> Figure:
    """Return an empty figure that pyplot knows nothing of.

    Parameters
    ----------
    width, height : float
        In inches.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def palette(n_components: int) -> list[str]:
    """Return a colour for every component, as ``#rrggbb``.

    Eight hues, then the same darker, then lighter; from the 25th component on colours repeat, and
    figures tell components apart by their numbers and by `dashes`.
    """
    colours = [
        "#" + "".join(f"{_mixed(hue, start, towards, part):02x}" for start in (0, 2, 4))
        for towards, part in _TIERS
        for hue in _HUES
    ]
    return [colours[index % len(colours)] for index in range(n_components)]


def dashes(component: int) -> str:
    """Return the line style of a component: another one each time the colours repeat."""
    styles = ("-", "--", ":", "-.")
    return styles[component // (len(_HUES) * len(_TIERS)) % len(styles)]


def names_or_numbers(names: tuple[str, ...], count: int) -> list[str]:
    """Return names that are short enough for the ticks of a figure, or numbers without names."""
    if not names:
        return [str(number) for number in range(count)]
    return shortened(names)


def shortened(names: Sequence[str], letters: int = _LETTERS_OF_NAME) -> list[str]:
    """Return names that leave room for the rest of a figure.

    Parameters
    ----------
    names : sequence of str
        Names of any length.
    letters : int
        Longer names lose their middle, because long names often differ at their end.

    Returns
    -------
    list of str
        Different names stay different.
    """
    distinct = list(dict.fromkeys(names))
    short = unique_names([_without_middle(name, letters) for name in distinct])
    by_name = dict(zip(distinct, short, strict=True))
    return [by_name[name] for name in names]


def wrapped(label: str) -> str:
    """Return the label of an axis in lines that are not longer than the axis."""
    (short,) = shortened([label], _LETTERS_OF_LABEL * _LINES_OF_LABEL)
    return textwrap.fill(short, _LETTERS_OF_LABEL)


def data_uri(figure: Figure, kind: str = "svg") -> str:
    """Return a figure as the address of an image that holds its own data.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Figure to save.
    kind : {"svg", "png"}
        Format of the image.

    Returns
    -------
    str
        The same figure gives the same text.
    """
    with report_style():
        layout = figure.get_layout_engine()
        figure.set_facecolor("white")
        figure.set_dpi(_DOTS_AN_INCH)
        # savefig would draw every figure twice, and encode a bitmap that is then decoded again
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        content = _drawing(figure) if kind == "svg" else _bitmap(figure)
    mime = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _without_middle(name: str, letters: int) -> str:
    """Return a name of at most this length, with an ellipsis in place of the middle."""
    if len(name) <= letters:
        return name
    end = letters // 2
    return f"{name[: letters - end - 1].rstrip()}…{name[-end:].lstrip()}"


def _drawing(figure: Figure) -> bytes:
    """Return a figure as SVG without a time stamp."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    return _fewer_digits(buffer.getvalue())


def _bitmap(figure: Figure) -> bytes:
    """Return a figure as PNG with a palette of 256 colours, a third of the bytes of all colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
    # a quarter of the pixels has all colours that matter, and is read four times as fast
    sample = image.resize((image.width // 2, image.height // 2), Image.Resampling.NEAREST)
    colours = sample.quantize(256, dither=Image.Dither.NONE)
    small = image.quantize(palette=colours, dither=Image.Dither.NONE)
    palette = small.getpalette() or []
    background = 3 * int(np.argmax(small.histogram()))
    # colours of the palette are means, and the background is to stay white
    palette[background : background + 3] = [255] * 3
    small.putpalette(palette)
    buffer = io.BytesIO()
    small.save(buffer, format="png")
    return buffer.getvalue()


def _fewer_digits(drawing: bytes) -> bytes:
    """Return a drawing whose lines go by hundredths of a point, not by millionths."""
    return re.sub(
        rb' d="[^"]*"',
        lambda path: re.sub(rb"(\.\d\d)\d+", rb"\1", path[0]),
        drawing,
    )


def _mixed(hue: str, start: int, towards: int, part: float) -> int:
    """Mix one channel of a colour with black or white."""
    return round((1 - part) * int(hue[start : start + 2], 16) + part * towards)
