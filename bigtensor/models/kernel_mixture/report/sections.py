"""Sections of the report of a kernel mixture: tree of populations, means, densities, pairs."""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.component_merging import LEVELS
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.report.diagnostics import agreement_of_cuts
from bigtensor.models.kernel_mixture.report.feature_pairs import choose_pairs
from bigtensor.models.kernel_mixture.report.levels import Level, Levels
from bigtensor.models.kernel_mixture.report.sentences import component_description, cuts_sentences
from bigtensor.models.words.label_level import is_cut, tree_of
from bigtensor.models.words.marker_names import marker_column, marker_lead
from bigtensor.models.words.report_blocks import Block, Cell, Column, Group, Section, Table, Words
from bigtensor.models.words.report_figures import DensityPlot, Heatmap, Scatter, TreePlot
from bigtensor.models.words.sampled_rows import LabelledRows
from bigtensor.models.words.wording import percent

LARGEST_DRAWING = 400
"""Densities of all features together up to which they are drawings. More are smaller bitmaps."""

APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"


def level_columns(shown: Level, names: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the nearest component or population of every one, and the features that stand out.

    Parameters
    ----------
    shown : Level
        Components, or populations, in the rows of the table.
    names : tuple of str
        Their names. Suggested names that were accepted are not repeated.
    """
    others = shown.overlap - np.eye(shown.count)
    nearest = others.argmax(axis=1)
    several = shown.count > 1
    return (
        Column(
            "nearest",
            tuple(
                f"{h} ({row[h]:.2f})" if several else ""
                for row, h in zip(others, nearest, strict=True)
            ),
        ),
        *([] if names == shown.suggested_names else [_features_column(shown)]),
    )


def _features_column(shown: Level) -> Column:
    """Return suggested names, or the features that stand out if none has two modes."""
    if any(shown.suggested_names):
        return marker_column(shown.suggested_names)
    texts = (component_description(column, shown.features) for column in shown.standardised.T)
    return Column("features", tuple(texts), wide=True)


def columns_lead(shown: Level) -> str:
    """Say how to read the columns of `level_columns`.

    Parameters
    ----------
    shown : Level
        Components, or populations, in the rows of the table.
    """
    name = shown.name
    affinity = (
        f"Nearest is the {name} that is most alike, and in parentheses how much their rows "
        "overlap: 0 is apart, 1 is the same."
    )
    if any(shown.suggested_names):
        return f"{marker_lead(name)} {affinity}"
    return (
        f"A feature is high or low where a {name}{APOSTROPHE}s mean is at least 0.75 overall "
        "standard deviations from the overall mean, very high or low from 1.75 on. "
        f"{affinity}"
    )


def sections_of(
    model: DescribedKernelMixture, levels: Levels, rows: LabelledRows | None
) -> tuple[Section, ...]:
    """Return the sections of a fitted kernel mixture.

    Parameters
    ----------
    model : fitted model
        Fitted model that the report describes.
    levels : Levels
        Level that the report shows.
    rows : LabelledRows, optional
        Sample of labelled rows.
    """
    return (
        _density_section(levels, rows),
        *_tree_sections(model, levels),
        *([] if rows is None else _pair_sections(levels, rows)),
    )


def standardised_heatmap(
    alternative: str,
    standardised: FloatArray,
    features: list[str],
    column_names: tuple[str, ...],
) -> Heatmap:
    """Return a heatmap of means in overall standard deviations, from low (blue) to high (red).

    Parameters
    ----------
    alternative : str
        Description for readers who do not see the figure.
    standardised : (features, k) array
        Means of the components, or populations, in overall standard deviations.
    features : list of str
        Names of the rows.
    column_names : tuple of str
        Names of the components, or populations.
    """
    limit = max(1.0, min(3.0, float(np.abs(standardised).max())))
    return Heatmap(
        alternative,
        standardised,
        tuple(features),
        column_names,
        "overall sd",
        limit,
        diverging=True,
    )


def _tree_sections(model: DescribedKernelMixture, levels: Levels) -> list[Section]:
    """Return the tree of components, and where it is cut. Only with populations."""
    labels, tree, shown = levels.labels, tree_of(model), levels.shown
    if labels.of_component is None or tree is None:
        return []
    # a merge may raise or lower distances in levels, and so the heights
    ranked = tree.criterion == LEVELS
    heights = (
        "Its height is the number of populations that are left after it: merges low down were "
        "made first, of components whose rows are hard to tell apart, or that are high and low in "
        "the same features. Components with too few rows to be populations are merged before all "
        "others. Heights say nothing of how different two "
        "populations are."
        if ranked
        else "Its height is the criterion of the two that it joins: low down they share most of "
        "their rows, high up next to none. Where the criterion rises from one merge to the next, "
        "the height stays."
    )
    place = (
        "The tree is cut at the dotted line: populations are what hangs below it."
        if is_cut(tree, labels.of_component)
        else "Populations were merged by hand after the tree was cut."
    )
    lead = Words(
        "Every dot is a component, as large as its weight and in the colour of its population. The "
        f"number of the population stands below. A bridge is a merge. {heights} {place} "
        "Under every component are its "
        "means, from low (blue) to high (red), in overall standard deviations (sd)."
    )
    alternative = "How components were merged into populations"
    numbers = tuple(str(h) for h in range(len(labels.component_weights)))
    leaves = standardised_heatmap(alternative, levels.component_means, shown.features, numbers)
    plot = TreePlot(alternative, tree, labels.of_component, leaves, ranked)
    blocks: list[Block] = [lead, Group((plot,), layout="scroll")]
    count_choice = model.diagnostics_.get("population_count")
    if count_choice and count_choice.get("stability"):
        words = tuple(Words(sentence) for sentence in cuts_sentences(model))
        pair = (agreement_of_cuts(count_choice, shown.count), Group(words))
        blocks.append(Group(pair, "How many populations", "beside"))
    blocks += [
        Group((member_table(levels),), "Components of every population", "folded"),
        Group((component_table(levels),), "All components, one by one", "folded"),
    ]
    return [Section("tree", "From components to populations", tuple(blocks))]


def _density_section(levels: Levels, rows: LabelledRows | None) -> Section:
    """Return the densities of every feature."""
    shown = levels.shown
    name = shown.name
    behind = "" if rows is None else ", and a histogram of the sample in grey"
    merged = (
        ""
        if levels.labels.of_component is None
        else " The density of a population is the weighted sum of those of its components."
    )
    lead = (
        f"Above: densities of the {name}s times their weights, their sum as a dark line{behind}. "
        f"Below: the same densities at equal height, so that small {name}s can be seen; numbers "
        f"are those of the {name}s.{merged} Features: {', '.join(shown.features)}."
    )
    many = len(shown.profiles) * shown.count > LARGEST_DRAWING
    figures = tuple(
        DensityPlot(
            f"Densities of {profile.feature} by {name}",
            profile.feature,
            profile.points,
            profile.density,
            shown.weights,
            None if rows is None or profile.categorical else rows.values[:, column],
            None if rows is None else rows.weight,
            bitmap=many,
            names=levels.labels.given_names,
        )
        for column, profile in enumerate(shown.profiles)
    )
    blocks = (Words(lead), Group(figures, layout="narrow"))
    return Section("densities", "Densities of every feature", blocks, "Densities")


def _pair_sections(levels: Levels, rows: LabelledRows) -> list[Section]:
    """Return the rows in the pairs of features that tell most."""
    shown = levels.shown
    names, name = shown.features, shown.name
    figures = tuple(
        Scatter(
            f"{name.capitalize()}s in {names[i]} and {names[j]}",
            rows.values[:, i],
            rows.values[:, j],
            rows.label,
            shown.count,
            (names[i], names[j]),
            label_names=levels.labels.given_names,
        )
        for i, j in choose_pairs(shown.profiles, shown.weights)
    )
    if not figures:
        return []
    lead = (
        f"Pairs in which the {name}s lie apart, the most telling first. A number stands at the "
        f"medians of its {name}, or beside them where it would cover another one."
    )
    blocks = (Words(lead), Group(figures, layout="narrow"))
    title = f"{name.capitalize()}s in pairs of features"
    return [Section("pairs", title, blocks, "Pairs of features")]


def member_table(levels: Levels) -> Table:
    """Return the components of every population.

    Parameters
    ----------
    levels : Levels
        With populations.
    """
    weights, of_component = levels.labels.component_weights, levels.labels.of_component
    assert of_component is not None
    rows = []
    for population in range(int(of_component.max()) + 1):
        members = np.flatnonzero(of_component == population)
        listed = ", ".join(f"{h}\N{NO-BREAK SPACE}({100 * weights[h]:.2f})" for h in members)
        rows.append(
            (
                Cell(levels.labels.numbered_names[population]),
                Cell(percent(weights[members].sum())),
                Cell(str(len(members))),
                Cell(listed, wide=True),
            )
        )
    return Table(
        ("population", "weight", "components", "which, with their weights in per cent"), tuple(rows)
    )


def component_table(levels: Levels) -> Table:
    """Return weight and outstanding features of every component of the populations.

    Parameters
    ----------
    levels : Levels
        With populations.
    """
    weights, of_component = levels.labels.component_weights, levels.labels.of_component
    assert of_component is not None
    standardised, features = levels.component_means, levels.shown.features
    return Table(
        ("component", "population", "weight", "features"),
        tuple(
            (
                Cell(str(h)),
                Cell(str(of_component[h])),
                Cell(percent(weights[h])),
                Cell(component_description(standardised[:, h], features), wide=True),
            )
            for h in range(len(weights))
        ),
    )
