import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local import setup
from infra.local.layout import Layout
from infra.local.setup import Commands, Run, Step, StepError


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    return Layout(checkout=tmp_path, run=tmp_path / "run", cache=tmp_path / "cache", engines=tmp_path / "engines")


def runner(name: str) -> Run:
    return Run(name, {"PATH": "/usr/bin:/bin"}, Commands())


def step(place: Layout, name: str, work: Callable[[Run], None], *after: str) -> Step:
    source, made = place.checkout / f"{name}.source", place.checkout / f"{name}.made"
    source.touch()

    def make(run: Run) -> None:
        work(run)
        made.touch()

    return Step(name, make, (source,), (made,), after=after)


def test_a_step_runs_after_those_it_needs_and_beside_the_others(place: Layout) -> None:
    order: list[str] = []
    meeting = threading.Barrier(2, timeout=10)

    def meet(run: Run) -> None:
        meeting.wait()
        order.append(run.name)

    due = [
        step(place, "last", lambda run: order.append(run.name), "a", "b"),
        step(place, "a", meet),
        step(place, "b", meet),
    ]
    setup._side_by_side(place, due, runner)
    assert sorted(order[:2]) == ["a", "b"]
    assert order[2] == "last"
    assert all(setup._is_done(place, each) for each in due)


def test_a_step_is_done_again_when_its_source_changes(place: Layout) -> None:
    one = step(place, "one", lambda run: None)
    setup._side_by_side(place, [one], runner)
    assert setup._is_done(place, one)
    (place.checkout / "one.source").write_text("changed")
    assert not setup._is_done(place, one)


def test_a_failed_step_is_not_done_and_those_that_need_it_do_not_run(place: Layout) -> None:
    ran: list[str] = []
    due = [
        step(place, "bad", lambda run: run(["sh", "-c", "echo trouble; exit 7"])),
        step(place, "next", lambda run: ran.append(run.name), "bad"),
    ]
    with pytest.raises(StepError, match="bad: `sh -c echo trouble; exit 7 …` ended with 7"):
        setup._side_by_side(place, due, runner)
    assert ran == []
    assert not setup._is_done(place, due[0])


def test_an_interrupted_step_counts_as_not_done(place: Layout) -> None:
    one = step(place, "one", lambda run: None)
    setup._side_by_side(place, [one], runner)

    def interrupt(run: Run) -> None:
        raise StepError("stopped half-way")

    with pytest.raises(StepError):
        setup._side_by_side(place, [Step("one", interrupt, one.inputs, one.outputs)], runner)
    assert not setup._is_done(place, one)


def test_output_is_shown_behind_the_steps_name_and_progress_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    runner("bake")(["printf", 'plain\\n{"progress": 0.4, "message": "Measuring"}\\n'])
    assert capsys.readouterr().out == "      bake │ plain\n      bake │  40% Measuring\n"


def test_ending_the_commands_ends_what_they_started(place: Layout) -> None:
    run = runner("slow")
    mark = place.checkout / "child"
    thread = threading.Thread(target=_ignore_failure, args=(run, f"sleep 600 & echo $! > {mark}; wait"))
    thread.start()
    while not (mark.exists() and mark.read_text().strip()):
        time.sleep(0.02)
    run.commands.end()
    thread.join(10)
    assert not thread.is_alive()
    assert not _lives(int(mark.read_text()))
    with pytest.raises(StepError, match="ending"):
        run(["true"])


def test_ending_the_commands_ends_what_outlives_the_command_itself(place: Layout) -> None:
    run = runner("gone")
    mark = place.checkout / "child"
    thread = threading.Thread(target=lambda: run(["sh", "-c", f"sleep 600 & echo $! > {mark}"]))
    thread.start()
    while not (mark.exists() and mark.read_text().strip()):
        time.sleep(0.02)
    run.commands.end()
    thread.join(10)
    assert not thread.is_alive()
    assert not _lives(int(mark.read_text()))


def test_a_command_that_is_being_started_is_ended_too(place: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command may run before the thread that started it comes to note so."""
    popen, running = subprocess.Popen, threading.Event()

    def slow(*arguments: Any, **options: Any) -> Any:
        child = popen(*arguments, **options)
        running.set()
        time.sleep(0.3)
        return child

    monkeypatch.setattr(subprocess, "Popen", slow)
    run = runner("slow")
    thread = threading.Thread(target=_ignore_failure, args=(run, "sleep 600"))
    thread.start()
    assert running.wait(10)
    run.commands.end()
    thread.join(10)
    assert not thread.is_alive()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _ignore_failure(run: Run, script: str) -> None:
    with pytest.raises(StepError):
        run(["sh", "-c", script])
