"""Names of features made unique."""


def unique_names(names: "list[str] | tuple[str, ...]") -> list[str]:
    """Make names unique by numbering repetitions: ``a``, ``a_2``, ``a_3``."""
    taken = set(names)
    used: set[str] = set()
    result = []
    for name in names:
        new, number = name, 2
        while new in used or (new != name and new in taken):
            new, number = f"{name}_{number}", number + 1
        used.add(new)
        result.append(new)
    return result
