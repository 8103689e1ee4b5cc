"""What infra/aws/policy.json allows, and which permissions calls that were really made have needed."""

import json
from collections.abc import Iterable
from pathlib import Path

from provisioner.providers.aws_emulator.emulator import Call

FOLDER = Path(__file__).resolve().parents[3] / "infra" / "aws"


def allowed_actions() -> set[str]:
    found: set[str] = set()
    for statement in json.loads((FOLDER / "policy.json").read_text())["Statement"]:
        actions = statement["Action"]
        found |= {actions} if isinstance(actions, str) else set(actions)
    return found


def price_actions() -> set[str]:
    """Only the installation's own account needs them."""
    (statement,) = json.loads((FOLDER / "prices-policy.json").read_text())["Statement"]
    return {statement["Action"]}


def tagging_actions() -> set[str]:
    """The creations that may give tags."""
    statements = json.loads((FOLDER / "policy.json").read_text())["Statement"]
    (tagging,) = [one for one in statements if one["Sid"] == "TagsOfNewThings"]
    return set(tagging["Condition"]["StringEquals"]["ec2:CreateAction"])


def permissions(calls: Iterable[Call]) -> set[str]:
    """Of the calls themselves, and of what AWS asks for besides: tags at creation, an instance profile."""
    found = set()
    for call in calls:
        found.add(f"{call.service}:{call.action}")
        if call.service == "ec2" and "TagSpecification.1.ResourceType" in call.form:
            found.add("ec2:CreateTags")
        if any(name.startswith("IamInstanceProfile.") for name in call.form):
            found.add("iam:PassRole")
    return found
