"""The plan of a check: one step per region."""

from collections.abc import Sequence

from backend.operations.actions import PlannedStep

CHECK_SECONDS = 10


def check_cloud_account(regions: Sequence[str]) -> list[list[PlannedStep]]:
    return [
        [
            PlannedStep("try_permissions", "Try every permission", target=name, target_title=name, deadline_seconds=120)
            for name in regions
        ]
    ]
