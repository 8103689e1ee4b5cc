"""The plan of a repair: one long step, which may stand still at any moment, between a look and a record."""

from backend.operations.actions import PlannedStep

USUAL_SECONDS = 600
_LONGEST = 30 * 24 * 3600


def repair() -> list[list[PlannedStep]]:
    return [
        [PlannedStep("plan_repair", "Look at ring and tables, and plan", deadline_seconds=300)],
        [PlannedStep("repair_ranges", "Repair range by range", deadline_seconds=_LONGEST)],
        [PlannedStep("record_repair", "Write down what is repaired", deadline_seconds=300)],
    ]


def repair_parameters(run_id: str) -> dict[str, str]:
    return {"run": run_id}
