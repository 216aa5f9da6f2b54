"""Digests of the classes and fields that saved models are made of, with the format version."""

import json
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.store import FORMAT_VERSION

NAME = "stored_forms"

PATH = Path(__file__).with_name(f"{NAME}.json")


def stored_forms() -> dict[str, Any]:
    """Return the format version, and a digest of classes and fields by model."""
    digests = {name: _digest(model_class(name)._stored_classes()) for name in MODELS}
    return {"format_version": FORMAT_VERSION, "digests": digests}


def write(path: Path = PATH) -> None:
    """Write the stored forms. Those of known models change with the format version alone."""
    forms, stored = stored_forms(), json.loads(path.read_text())
    changed = [
        name
        for name, digest in forms["digests"].items()
        if stored["digests"].get(name, digest) != digest
    ]
    if changed and forms["format_version"] == stored["format_version"]:
        raise SystemExit(
            f"the stored form of {', '.join(changed)} changed, so saved models cannot be read: "
            "raise FORMAT_VERSION of bigtensor/store.py and run the same command again"
        )
    path.write_text(json.dumps(forms, indent=1) + "\n")


def _digest(classes: tuple[type[Any], ...]) -> str:
    forms = {
        stored.__name__: sorted(part.name for part in fields(stored) if part.init)
        for stored in classes
    }
    return sha256(json.dumps(forms, sort_keys=True).encode()).hexdigest()[:16]
