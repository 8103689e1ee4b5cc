import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from infra.local import services
from infra.local.programs import Program
from infra.local.supervision import Supervisor, configuration, restarts

SLEEP = "import time; time.sleep(600)"
ECHO = f"import sys; print(sys.argv[1:], flush=True); {SLEEP}"


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    # Not tmp_path: socket addresses are short. The % would be an expansion, if it were not written for what it is.
    run = Path(tempfile.mkdtemp(prefix="rm-%s-"))
    supervisor = Supervisor(run, services.socket_folder(run))
    programs = [
        Program("sleeper", (sys.executable, "-c", SLEEP)),
        Program("other", (sys.executable, "-c", SLEEP)),
        Program("echo", (sys.executable, "-c", ECHO, "100 %", "%(here)s", "it's")),
    ]
    supervisor.configuration.write_text(configuration(supervisor, programs, cwd=run))
    supervisor.start(Path(sys.executable), environment=dict(os.environ))
    yield supervisor
    supervisor.shut_down()
    rmtree(run)


def test_it_starts_the_programs_it_is_told_to_and_ends_with_all_of_them(supervisor: Supervisor) -> None:
    supervisor.start_programs(["sleeper"])
    supervisor.start_programs(["sleeper"])  # asking twice is asking once
    states = {status.name: status.state for status in supervisor.status()}
    assert states["sleeper"] in {"STARTING", "RUNNING"}
    assert states["other"] == "STOPPED"
    pid = pid_of(supervisor, "sleeper")
    supervisor.shut_down()
    assert not supervisor.is_up()
    assert not Path(f"/proc/{pid}").exists()


def test_a_program_that_dies_is_started_again_and_it_says_so(supervisor: Supervisor) -> None:
    supervisor.start_programs(["sleeper"])
    wait_for(lambda: state_of(supervisor, "sleeper") == "RUNNING")
    first = pid_of(supervisor, "sleeper")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: pid_of(supervisor, "sleeper") not in {0, first})
    crashes = supervisor.crashes()
    assert [(crash.name, crash.how) for crash in crashes] == [("sleeper", "terminated by SIGKILL")]
    assert restarts(crashes)["sleeper"] == 1


def test_stopping_programs_waits_until_they_have_ended(supervisor: Supervisor) -> None:
    supervisor.start_programs(["sleeper", "other"])
    # Between fork and exec a child has the supervisor's own handlers: a signal to end is lost on it.
    wait_for(lambda: state_of(supervisor, "sleeper") == "RUNNING")
    supervisor.stop_programs(["sleeper"], seconds=10)
    assert pid_of(supervisor, "sleeper") == 0
    assert pid_of(supervisor, "other") != 0
    assert supervisor.crashes() == []


def test_a_command_reaches_its_program_as_it_was_written(supervisor: Supervisor) -> None:
    supervisor.start_programs(["echo"])
    log = supervisor.run / "log" / "echo.log"
    wait_for(lambda: log.exists() and "]" in log.read_text())
    assert log.read_text().strip() == str(["100 %", "%(here)s", "it's"])


def test_a_supervisor_that_was_never_started_is_not_up_and_shuts_down_quietly(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, tmp_path)
    assert not supervisor.is_up()
    assert supervisor.crashes() == []
    supervisor.shut_down()


def pid_of(supervisor: Supervisor, name: str) -> int:
    return next(status.pid for status in supervisor.status() if status.name == name)


def state_of(supervisor: Supervisor, name: str) -> str:
    return next(status.state for status in supervisor.status() if status.name == name)


def wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, "waited for 15 s in vain"
        time.sleep(0.05)
