"""Version of the package in pickles of models."""

from __future__ import annotations

from typing import Any

from bigtensor._version import __version__
from bigtensor.errors import VersionWarning, warn

_VERSION = "_bigtensor_version"
"""Entry of the state that a pickle holds."""


class PickledVersion:
    """Estimator whose pickles hold the version of the package, and warn in another version."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and the version."""
        state: Any = super().__getstate__()
        return {**state, _VERSION: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes, and warn if another version made the pickle."""
        version = state.get(_VERSION, "unknown")
        if version != __version__:
            warn(
                f"this {type(self).__name__} was pickled by version {version} of bigtensor and is "
                f"read by version {__version__}, which may change its answers or fail; fit the "
                "model again, or save it with the earlier version and load it here",
                VersionWarning,
            )
        vars(self).update({name: value for name, value in state.items() if name != _VERSION})
