"""Parameters of the EC2 query protocol, as far as they are read here."""

from collections.abc import Mapping
from itertools import count


def indexed(form: Mapping[str, str], prefix: str) -> list[str]:
    """`InstanceId.1`, `InstanceId.2`, …"""
    found: list[str] = []
    for number in count(1):
        value = form.get(f"{prefix}.{number}")
        if value is None:
            return found
        found.append(value)
    return found


def filters(form: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number in count(1):
        name = form.get(f"Filter.{number}.Name")
        if name is None:
            return found
        found[name] = indexed(form, f"Filter.{number}.Value")
    return found


def tag_specification(form: Mapping[str, str], kind: str) -> dict[str, str]:
    """The tags that a creation gives to things of this kind."""
    found: dict[str, str] = {}
    for number in count(1):
        prefix = f"TagSpecification.{number}"
        if f"{prefix}.ResourceType" not in form:
            return found
        if form[f"{prefix}.ResourceType"] == kind:
            for tag in count(1):
                if f"{prefix}.Tag.{tag}.Key" not in form:
                    break
                found[form[f"{prefix}.Tag.{tag}.Key"]] = form[f"{prefix}.Tag.{tag}.Value"]
    return found
