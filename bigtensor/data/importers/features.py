"""Treatment of the features of an import: roles, transform, and features that stay linear."""

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from bigtensor.data.importers.channels.channel_content import Content, read_content
from bigtensor.data.importers.channels.channel_names import ChannelRole
from bigtensor.data.importers.channels.channel_roles import channel_roles
from bigtensor.data.importers.panel import Panel, channels_of
from bigtensor.data.importers.scales import (
    TransformName,
    choose_transform,
    earlier_record,
    linear_markers,
    recorded_transform,
)
from bigtensor.data.importers.source import ImportSource
from bigtensor.data.importers.transforms import Linear, Transform, is_untransformed
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.data.values.feature_roles import COORDINATE, Role, checked_roles
from bigtensor.data.values.import_record import COMPENSATION, ImportRecord
from bigtensor.errors import DataError, Message, ParameterError, Setting

_NOT_LISTED = ChannelRole("ignore", "not in the panel")
_LEFT_LINEAR = ChannelRole("ignore", "left linear")


@dataclass(frozen=True)
class FeatureSettings:
    """Choices of the caller of an import.

    Parameters
    ----------
    is_fcs : bool
        True for FCS files, whose channels have roles by rule.
    panel : Panel, optional
        Roles of channels.
    transform : {"arcsinh", "logicle", "none"} or Transform, optional
        By default arcsinh for FCS files, and none for others.
    cofactor : float, optional
        Of arcsinh.
    untransformed : sequence of str, optional
        Features or channels that stay linear.
    codes : bool
        True if values are names of categories.
    """

    is_fcs: bool = True
    panel: Panel | None = None
    transform: TransformName | Transform | None = None
    cofactor: float | None = None
    untransformed: Sequence[str] | None = None
    codes: bool = False

    def for_channels(self, channels: Container[str]) -> "FeatureSettings":
        """Return the settings without unused channels that no file has.

        Parameters
        ----------
        channels : container of str
            Channels of the files. Those that a fit uses have to be among them.
        """
        if self.panel is None:
            return self
        rows = zip(self.panel.channels, self.panel.markers, self.panel.roles, strict=True)
        kept = [row for row in rows if row[0] in channels or row[2] == "use"]
        panel = Panel(*zip(*kept, strict=True)) if kept else None
        absent = {*self.panel.features}.difference(panel.features if panel else ())
        linear = [name for name in self.untransformed or () if name not in absent]
        return replace(self, panel=panel, untransformed=linear)


@dataclass(frozen=True)
class ResolvedFeatures:
    """Treatment of the features of an import.

    Parameters
    ----------
    transform : Transform
        Transform of all features but those that stay linear.
    linear : tuple of str
        Features that stay linear.
    roles : tuple of ChannelRole or None
        Role of every feature; None for files without roles.
    note : Message
        Markers that the transform leaves nearly linear, in a sentence; empty if there are none.
    """

    transform: Transform
    linear: tuple[str, ...]
    roles: tuple[ChannelRole, ...] | None
    note: Message


@dataclass(frozen=True)
class StoreSettings:
    """Settings with which the files of a store were imported.

    Parameters
    ----------
    panel : Panel, optional
        Channels with the names and roles of their features. None if the store has no channels.
    transform : Transform
        Transform of the values.
    untransformed : tuple of str
        Features that stayed linear.
    compensate : bool
        True if spillover was removed.
    """

    panel: Panel | None
    transform: Transform
    untransformed: tuple[str, ...]
    compensate: bool


def settings_of_store(path: "str | os.PathLike[str]") -> StoreSettings:
    """Return the settings with which the files of a store were imported.

    Parameters
    ----------
    path : path or URL
        Store of an import.

    Raises
    ------
    StoreReadError, LayoutError, DataError
        If the store cannot be read, or has no record of an import.
    """
    # xarray needs pandas, which an import of FCS files does without
    from bigtensor.data.stores.zarr_datasets import open_cells

    cells = open_cells(path)
    record = ImportRecord.of_dataset(cells, ())
    if record is None:
        raise DataError(f"{path} has no record of an import; give the options of the import")
    panel = None
    if "channel" in cells and COORDINATE in cells:
        features, channels, roles = (
            [str(value) for value in cells[name].to_numpy()]
            for name in (FEATURE_DIM, "channel", COORDINATE)
        )
        pairs = zip(features, channels, strict=True)
        markers = ["" if name == channel else name for name, channel in pairs]
        panel = Panel(channels, markers, checked_roles(roles) or ())
    return StoreSettings(
        panel,
        recorded_transform(record.transform, str(path)),
        record.untransformed,
        compensate=bool(cells.attrs.get(COMPENSATION)),
    )


def resolve_features(
    sources: Sequence[ImportSource], features: Sequence[str], settings: FeatureSettings
) -> ResolvedFeatures:
    """Resolve the treatment of the features of an import.

    A sample of the rows is read if roles or a cofactor depend on the values.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files, with features named by the panel if there is one.
    features : sequence of str
        Features of the import.
    settings : FeatureSettings
        Choices of the caller.

    Raises
    ------
    ParameterError
        If a name in `untransformed` is unknown, or parameters contradict each other.
    DataError
        If no one transform suits all files.
    """
    first = sources[0]
    channels = dict(zip(first.features, channels_of(first), strict=True))
    named_linear = _named_linear(features, channels, settings.untransformed)
    if settings.codes:
        return ResolvedFeatures(Linear(), (), None, Message(""))
    chosen = settings.transform or ("arcsinh" if settings.is_fcs else "none")
    content: dict[str, Content] = {}
    if settings.is_fcs or chosen == "arcsinh":
        content = read_content(sources, [source.features for source in sources])
    roles = None
    if settings.is_fcs or settings.panel is not None:
        judged = content if settings.is_fcs else {}
        roles = _roles(sources, features, channels, judged, settings.panel)
        if settings.panel is None and named_linear is not None:
            roles = {
                name: _LEFT_LINEAR if name in named_linear and role.role == "use" else role
                for name, role in roles.items()
            }
    linear = named_linear if named_linear is not None else _linear(features, channels, roles)
    linear = (
        *linear,
        *(name for name in earlier_record(first).untransformed if name not in linear),
    )
    markers = {
        name: content[name]
        for name in features
        if name in content and name not in linear and (not roles or roles[name].role == "use")
    }
    transform = choose_transform(chosen, settings.cofactor, sources, list(markers.values()))
    return ResolvedFeatures(
        transform,
        linear,
        None if roles is None else tuple(roles.values()),
        linear_markers(transform, markers),
    )


def _named_linear(
    features: Sequence[str], channels: Mapping[str, str], names: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Return the features that the caller leaves linear; None if they follow from the roles."""
    if names is None:
        return None
    unknown = sorted(set(names) - {*features, *(channels[feature] for feature in features)})
    if unknown:
        raise ParameterError(
            Setting("untransformed") + f" names {unknown}, but the features are {list(features)}"
        )
    return tuple(name for name in features if name in names or channels[name] in names)


def _roles(
    sources: Sequence[ImportSource],
    features: Sequence[str],
    channels: Mapping[str, str],
    content: Mapping[str, Content],
    panel: Panel | None,
) -> dict[str, ChannelRole]:
    """Return the role of every feature, from the panel or by rule."""
    first = sources[0]
    markers = dict(
        zip(first.features, first.coordinates.get("marker", first.features), strict=True)
    )
    by_rule = channel_roles(
        [channels[name] for name in features],
        [markers[name] for name in features],
        [content.get(name) for name in features],
        is_mass_cytometry=all(source.attrs.get("is_mass_cytometry", False) for source in sources),
    )
    roles = dict(zip(features, by_rule, strict=True))
    if panel is None:
        return roles
    listed = dict(zip(panel.channels, panel.roles, strict=True))
    return {name: _role_of_panel(role, listed.get(channels[name])) for name, role in roles.items()}


def _role_of_panel(by_rule: ChannelRole, role: Role | None) -> ChannelRole:
    """Return the role that a panel gives to a channel, or one that is not used without one."""
    if role is None:
        return by_rule if by_rule.role != "use" else _NOT_LISTED
    if role == by_rule.role:
        return by_rule
    return ChannelRole(role, linear=role in ("scatter", "time"))


def _linear(
    features: Sequence[str],
    channels: Mapping[str, str],
    roles: Mapping[str, ChannelRole] | None,
) -> tuple[str, ...]:
    """Return the features that stay linear, because they are no light of a dye."""
    return tuple(
        name
        for name in features
        if (roles is not None and roles[name].linear)
        or is_untransformed(channels[name])
        or (roles is None and is_untransformed(name))
    )
