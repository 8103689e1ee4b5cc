"""What the console asks for: functions of its generated client that its own code names."""

from __future__ import annotations

import re
from pathlib import Path

_FORMS = ("", "Mutation", "Options")
"""How the generated client names an operation: a function, and options of a query or a mutation. A key asks nothing."""


def used(sources: Path, ids: set[str]) -> set[str]:
    """The operations that files below `sources` name: not generated ones, tests, and lists of what is exported."""
    by_name = {_camel(one) + form: one for one in ids for form in _FORMS}
    found: set[str] = set()
    for file in sources.rglob("*.ts*"):
        if "__generated__" in file.parts or ".test." in file.name:
            continue
        text = re.sub(r"^(?:import|export) (?:type )?\{[^}]*\} from [^;]*;", "", file.read_text(), flags=re.MULTILINE)
        found |= {by_name[word] for word in re.findall(r"\b[a-z][A-Za-z0-9]+\b", text) if word in by_name}
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
