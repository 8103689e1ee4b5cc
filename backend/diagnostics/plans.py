"""The plan of asking a node."""

from backend.clusters.models import Node
from backend.diagnostics.states import QUESTIONS, Question
from backend.operations.actions import PlannedStep

# Seconds that a question usually takes, besides its sampling.
ASK_SECONDS = 2


def ask(node: Node, question: Question, *, sampling: int) -> list[list[PlannedStep]]:
    """`sampling`: it samples or reads for so many seconds, 0: not at all."""
    title = f"Ask for: {QUESTIONS[question].title}"
    return [[PlannedStep("ask_node", title, node.id, node.name, deadline_seconds=sampling + 30)]]
