"""How a model shows itself: its text and its HTML."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

from bigtensor import KernelMixture
from bigtensor.models.words.notebook_summary import MOST_TABLE_ROWS


class Cells(HTMLParser):
    """Collects the rows of all tables, as lists of cells, and every tag."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        self._inside = tag in ("td", "th")
        if self._inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, text):
        if self._inside:
            self.rows[-1][-1] += text


def summary_of(model: KernelMixture) -> str:
    """Return the part of the HTML that is the project's own."""
    html = model._repr_html_()
    return html[html.index('<div class="bigtensor-summary">') :]


def cells_of(html: str) -> Cells:
    parser = Cells()
    parser.feed(html)
    return parser


def test_repr__shows_what_differs_from_the_defaults():
    assert repr(KernelMixture(3)) == "KernelMixture(n_components=3)"
    assert repr(KernelMixture(2, views={"a": [0], "b": [1, 2]}, init="kmeans")) == (
        "KernelMixture(init='kmeans', n_components=2, views={'a': [0], 'b': [1, 2]})"
    )


def test_html__says_what_was_fitted_on_what_in_how_many_passes(model):
    found = cells_of(summary_of(model))
    facts = {row[0]: row[1] for row in found.rows if len(row) == 2}
    # populations come first
    assert found.rows[0] == ["component", "weight"]
    assert facts["data"] == "DataArray X of 4,000 rows"
    assert facts["rows"] == "4,000 (0 left out)"
    assert facts["features"] == "3 (3 used)"
    assert facts["views"] == "view1: view1; view2: view2; view3: view3"
    passes = model.diagnostics_["passes"]
    assert facts["passes"].startswith(f"{len(passes)}: pilot (4,000 rows), moments (4,000 ")
    assert facts["initialisation"] == "spectral"
    assert facts["verdict"] == " ".join(model.diagnostics_["verdict"]["sentences"])
    assert float(facts["log-likelihood"].split()[0]) == pytest.approx(
        model.diagnostics_["mean_log_likelihood"][-1], abs=1e-4
    )
    for component, weight in enumerate(model.weights_):
        # with a suggested name in parentheses
        (label,) = (name for name in facts if name.split(" (")[0] == str(component))
        assert facts[label] == f"{weight:.5f}"


def test_html__holds_the_parameters_of_the_model(model):
    html = model._repr_html_()
    assert "KernelMixture" in html[: html.index("bigtensor-summary")]
    assert "n_landmarks" in html


def test_html__of_views_lists_their_features(wide_model):
    assert "b: x1, x2; a: x0; c: x4, x3" in summary_of(wide_model)


def test_html__without_a_fit_has_no_summary():
    html = KernelMixture(3)._repr_html_()
    assert "KernelMixture" in html
    assert "bigtensor-summary" not in html


def test_html__without_a_spectral_start_says_so(data, small):
    fitted = KernelMixture(3, init="kmeans", **small).fit(data)
    assert "<td>k-means</td>" in summary_of(fitted)


def test_html__escapes_names(data, small):
    nasty = "<script>alert('x')</script>"
    named = data[["X"]].assign_coords(feature=[nasty, "b&b", "c"])
    html = summary_of(KernelMixture(3, **small).fit(named))
    tags = {tag for tag, _ in cells_of(html[: html.index("</div>")]).tags}
    assert tags <= {"div", "strong", "table", "tr", "td", "th"}
    assert "&lt;script&gt;" in html
    assert "b&amp;b" in html


def test_html__needs_no_network(model):
    for _, attributes in cells_of(summary_of(model)).tags:
        assert not {"src", "href"} & set(attributes)
    assert not re.search(r"@import|url\(", summary_of(model))


def test_mime_bundle__holds_text_and_html(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert "bigtensor-summary" in bundle["text/html"]
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")


def test_html__lists_populations_with_their_components(data, small):
    fitted = KernelMixture(9, n_populations=3, **small).fit(data)
    found = cells_of(summary_of(fitted)).rows
    assert ["populations", f"3, merged from 9 components by {fitted.merging}"] in found
    names = fitted.suggest_population_names()
    for population, weight in enumerate(fitted.population_weights_):
        (members,) = np.nonzero(fitted.population_of_component_ == population)
        label = f"{population} ({names[population]})" if names[population] else str(population)
        stability = f"{fitted.population_stability_[population]:.2f}"
        assert [label, f"{weight:.5f}", stability, ", ".join(map(str, members))] in found
    assert ["component", "weight"] not in found


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
def test_html__of_very_many_components_lists_the_heaviest(data, small):
    fitted = KernelMixture(MOST_TABLE_ROWS + 5, init="kmeans", **small).fit(data)
    found = cells_of(summary_of(fitted)).rows
    at = found.index(["5 more", f"{fitted.weights_[MOST_TABLE_ROWS:].sum():.5f}"])
    assert found[at - 1][0].split(" (")[0] == str(MOST_TABLE_ROWS - 1)
    assert found[at - 1][1] == f"{fitted.weights_[MOST_TABLE_ROWS - 1]:.5f}"
