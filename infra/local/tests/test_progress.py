import io
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.local.progress import Progress, render, rows

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NODES = ("demo-local-1a-1", "demo-local-1b-1", "demo-local-1c-1")


def step(position: int, group: int, title: str, state: str, **more: Any) -> dict[str, Any]:
    return {"position": position, "group": group, "title": title, "state": state, "target_title": "", **more}


def operation(**more: Any) -> dict[str, Any]:
    started = (NOW - timedelta(seconds=4)).isoformat()
    steps = [
        step(0, 0, "Prepare the network", "done", duration_seconds=0.25),
        step(1, 1, "Start the engine", "done", target_title=NODES[0], duration_seconds=5.1),
        step(2, 1, "Start the engine", "running", target_title=NODES[1], started_at=started, attempt=1),
        step(
            3, 1, "Start the engine", "running", target_title=NODES[2], started_at=started, attempt=2, message="again"
        ),
        step(4, 2, "Prove", "pending", target_title=NODES[0]),
    ]
    steps[3]["message"] = "again"
    base = {"title": "Create cluster", "cluster_name": "demo", "state": "running", "steps_done": 2, "steps_total": 5}
    return {**base, "elapsed_seconds": 6.4, "eta_seconds": 9.0, "steps": steps, **more}


def test_the_same_step_on_all_nodes_is_one_row_with_a_cell_for_each() -> None:
    picture = rows(operation()["steps"], now=NOW)
    assert [row.title for row in picture] == ["Prepare the network", "Start the engine", "Prove"]
    assert [cell.label for cell in picture[1].cells] == ["1a-1", "1b-1", "1c-1"]
    assert [row.state for row in picture] == ["done", "running", "pending"]
    assert picture[1].seconds == 5.1


def test_a_row_half_done_is_under_way() -> None:
    steps = [step(0, 0, "Prove", "done", duration_seconds=1.0), step(1, 0, "Prove", "pending")]
    assert rows(steps, now=NOW)[0].state == "running"


def test_the_picture_tells_durations_nodes_and_what_is_tried_again() -> None:
    lines = render(operation(), now=NOW, width=120, colour=False)
    assert lines[0] == "Create cluster demo: running, 2 of 5 steps, 6 s, about 9 s to go"
    assert "✓ Prepare the network" in lines[1]
    assert "0.2 s" in lines[1]
    assert "✓ 1a-1 5 s  ● 1b-1 4 s  ● 1c-1 4 s" in lines[2]
    assert lines[3].strip() == "again (attempt 2)"
    assert "· Prove" in lines[4]


def test_no_line_is_wider_than_the_terminal() -> None:
    assert max(len(line) for line in render(operation(), now=NOW, width=40, colour=False)) == 40


def test_without_a_terminal_each_finished_step_and_each_trouble_is_one_line_once() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.show(operation())
    progress.show(operation())
    assert out.getvalue().splitlines() == [
        "  ✓ Prepare the network (0.2 s)",
        "  ✓ Start the engine · demo-local-1a-1 (5.1 s)",
        "  ● Start the engine · demo-local-1c-1: again",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_picture_is_painted_over_itself() -> None:
    out = Terminal()
    progress = Progress(out)
    progress.show(operation())
    first = len(out.getvalue())
    progress.show(operation(state="succeeded"))
    assert out.getvalue()[first:].startswith("\x1b[5F\x1b[0J")
