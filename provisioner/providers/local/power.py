"""Power of a local machine: its processes, found again by anyone at any time without remembering a process id.

Every process of a machine carries RINGMASTER_MACHINE=<folder> in its environment, whichever session it moved to; the
init (init.sh) holds a lock on <folder>/init.pid while the machine has power.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

from provisioner.providers.base import ProviderError
from provisioner.providers.local.locks import is_held

_INIT_SCRIPT = Path(__file__).with_name("init.sh")
_MARKER = "RINGMASTER_MACHINE"

# What a machine may know of the process that made it. A closed list: the worker's environment holds secrets.
_INHERITED = ("PATH", "HOME", "JAVA_HOME", "LANG", "TZ", "TMPDIR")


def has_power(folder: Path) -> bool:
    return is_held(folder / "init.pid")


def power_on(folder: Path, *, agent_binary: Path) -> None:
    """Start the machine's init and with it the agent; returns when it runs. Doing it twice is doing it once.

    ProviderError (retryable) while an orderly power-off is under way: like a real machine it ends that first.
    """
    if has_power(folder):
        if _powering_off(folder).exists():
            raise ProviderError(f"Machine {folder.name} is shutting down and can be started when that is done.")
        return
    _powering_off(folder).unlink(missing_ok=True)
    script = folder / "init.sh"
    script.write_bytes(_INIT_SCRIPT.read_bytes())
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    environment[_MARKER] = str(folder)
    with (folder / "init.log").open("ab") as log:
        # setsid --fork: a session of its own and no parent of ours, so it outlives this process and leaves no zombie.
        subprocess.run(
            ["setsid", "--fork", "/bin/sh", str(script), str(folder), str(agent_binary)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )
    give_up_at = time.monotonic() + 2
    while not has_power(folder):
        if time.monotonic() > give_up_at:
            raise ProviderError(f"Machine {folder.name} did not come up.", hint=f"See {folder / 'init.log'}.")
        time.sleep(0.002)


def press_power_button(folder: Path) -> None:
    """Ask for an orderly power-off. Returns at once; the machine has power until its engine has ended."""
    if not has_power(folder):
        return
    _powering_off(folder).touch()
    give_up_at = time.monotonic() + 2
    # An init that has just been started may not have written its number yet.
    while has_power(folder) and not _signal_init(folder):
        if time.monotonic() > give_up_at:
            raise ProviderError(f"The init of machine {folder.name} cannot be found.", hint="`kill` the machine.")
        time.sleep(0.005)


def _signal_init(folder: Path) -> bool:
    line = (folder / "init.pid").read_text().partition("\n")[0]
    return line.isdigit() and _signal(int(line), folder, signal.SIGTERM)


def _powering_off(folder: Path) -> Path:
    return folder / "powering-off"


def cut_power(folder: Path, *, within_seconds: float) -> bool:
    """SIGKILL everything of the machine. True when nothing of it is left."""
    give_up_at = time.monotonic() + within_seconds
    while True:
        # Again and again: a process that is being started while we look is found by the next look. The oldest first,
        # because that is the init, which would start others.
        processes = processes_of(folder)
        if not processes:
            return True
        for process in processes:
            _signal(process, folder, signal.SIGKILL)
        if time.monotonic() > give_up_at:
            return False
        time.sleep(0.01)


def processes_of(folder: Path) -> list[int]:
    """Process ids of the machine, oldest first; the dead that nobody has reaped do not count."""
    found = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _belongs(int(entry), folder)]
    return sorted(found, key=_started_at)


def _belongs(process: int, folder: Path) -> bool:
    try:
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        # Ended meanwhile, or another user's and so not ours.
        return False
    return f"{_MARKER}={folder}".encode() in environment.split(b"\0")


def _started_at(process: int) -> int:
    """Clock ticks after boot; 0 when it has ended meanwhile."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def _signal(process: int, folder: Path, number: signal.Signals) -> bool:
    """Whether the process was one of the machine's and got the signal."""
    try:
        # The descriptor pins the process before we look whose it is, so a reused id is never hit.
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return False
    try:
        if not _belongs(process, folder):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True
