"""`make up`, `down`, `dev`, `status`, `logs` and `clean`: the whole product on this machine."""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infra.local import control_plane, demo, follow_logs, machines
from infra.local.api import Api, ApiError
from infra.local.control_plane import StartError
from infra.local.demo import Demo, DemoError
from infra.local.layout import Layout, layout
from infra.local.machines import MachinesError
from infra.local.programs import Installation
from infra.local.services import ServiceError
from infra.local.supervision import SupervisionError, Supervisor, restarts

_INTERRUPTED = 130
_FAILURES = (ApiError, DemoError, MachinesError, ServiceError, StartError, SupervisionError)


def main() -> int:
    """Returns the exit code: 0, 1 with a reason on stderr, 130 when interrupted."""
    verbs: dict[str, tuple[Callable[[Layout], int], str]] = {
        "up": (up, "start everything, order the cluster demo, say how to use it"),
        "start": (start, "as up, but without the cluster demo"),
        "demo": (order_demo, "order the cluster demo again after it was deleted"),
        "dev": (dev, "start everything with reloaders, in the foreground"),
        "down": (down, "stop everything; data stays"),
        "clean": (clean, "stop everything and remove its data"),
        "status": (status, "what runs, on which ports, and what crashed"),
        "logs": (follow_logs.follow, "follow every log, or those named by P=name,name"),
    }
    parser = argparse.ArgumentParser(prog="launcher", description=__doc__)
    commands = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, (_, meaning) in verbs.items():
        commands.add_parser(name, help=meaning)
    verb = parser.parse_args().verb
    try:
        return verbs[verb][0](layout())
    except _FAILURES as failure:
        print(f"\n{verb}: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return _INTERRUPTED


def up(place: Layout) -> int:
    """Start what does not run, have the cluster, print how to use both."""
    return _up(place, order_again=False)


def start(place: Layout) -> int:
    """Start what does not run; order nothing. For tests that order their own."""
    with _alone(place):
        was_up = control_plane.is_running(place)
        try:
            started = control_plane.start(place, say=print)
        except KeyboardInterrupt:
            return _interrupted(place, was_up=was_up)
    print(f"Ringmaster runs: {started.installation.public_url}")
    return 0


def order_demo(place: Layout) -> int:
    """As `up`, but a demo that was deleted is ordered again."""
    return _up(place, order_again=True)


def _up(place: Layout, *, order_again: bool) -> int:
    began = time.monotonic()
    with _alone(place):
        was_up = control_plane.is_running(place)
        try:
            started = control_plane.start(place, say=print)
            with Api(started.installation.api_url, _credentials(place)["api_token"]) as api:
                found = demo.provide(api, place, order_again=order_again)
        except KeyboardInterrupt:
            return _interrupted(place, was_up=was_up)
        print(f"\n{_ending(started.installation, found)}\n\nThis took {time.monotonic() - began:.0f} s.")
    return 0


def _interrupted(place: Layout, *, was_up: bool) -> int:
    """Ctrl-C: stop what this run started, or say what goes on without it."""
    if was_up:
        print("\nInterrupted. Ringmaster was running before and goes on: `make status`, `make down`.")
        return _INTERRUPTED
    print("\nInterrupted: stopping what was started. Data stays; `make up` goes on from here.")
    try:
        control_plane.stop(place, with_machines=True)
    except KeyboardInterrupt:
        print("\nInterrupted again: something may still run, `make down` stops it.")
    return _INTERRUPTED


def dev(place: Layout) -> int:
    """Everything with reloaders; logs in the terminal; Ctrl-C stops the control plane, machines go on."""
    with _alone(place):
        try:
            started = control_plane.start(place, say=print, reloading=True)
            sign_in = _credentials(place)
            print(f"\nConsole  {started.installation.public_url}   {sign_in['email']}   {sign_in['password']}")
            print("Ctrl-C stops the control plane; machines go on (`make down` stops them).\n")
            return follow_logs.follow(place)
        except KeyboardInterrupt:
            print("\nStopping the control plane")
            control_plane.stop(place, with_machines=False)
    return 0


def down(place: Layout) -> int:
    """Stop everything in an orderly way."""
    if not place.run.is_dir():
        print("Nothing runs.")
        return 0
    stopped = control_plane.stop(place, with_machines=True)
    switched_off = f" ({stopped} machines switched off)" if stopped else ""
    print(f"Stopped{switched_off}. Data stays in {place.run}; `make up` goes on from there, `make clean` removes it.")
    return 0


def clean(place: Layout) -> int:
    """Stop everything at once and remove the run folder; the cache of engines and tools stays."""
    if place.marker.exists():
        supervisor = control_plane.supervisor_of(place)
        control_plane.stop(place, with_machines=False)
        machines.cut_all_power(place.run)
        shutil.rmtree(place.run)
        shutil.rmtree(supervisor.sockets, ignore_errors=True)
    print("Removed everything that ran here.")
    return 0


def status(place: Layout) -> int:
    """Print what runs. Exit code 3, as init scripts do, when nothing does."""
    supervisor = control_plane.supervisor_of(place) if place.run.is_dir() else None
    if supervisor is None or not supervisor.is_up():
        print("Ringmaster does not run: `make up`.")
        _print_machines(place)
        return 3
    _print_programs(supervisor)
    _print_machines(place)
    known = json.loads(place.ports_file.read_text())
    print("\nports     " + "  ".join(f"{name} {port}" for name, port in sorted(known.items())))
    return 0


def _print_programs(supervisor: Supervisor) -> None:
    crashes = supervisor.crashes()
    count = restarts(crashes)
    for program in supervisor.status():
        crashed = f"  crashed and was restarted {count[program.name]} ×" if count[program.name] else ""
        pid = program.pid or ""
        print(f"{program.name:<12} {program.state.lower():<9} pid {pid:<8} up {_age(program.up_seconds):<8}{crashed}")
    for crash in crashes[-5:]:
        print(f"  {crash.at}  {crash.name}: {crash.how}")


def _print_machines(place: Layout) -> None:
    present = machines.present(place.run) if place.run.is_dir() else []
    if present:
        print("\nmachines")
    for machine in present:
        print(f"  {machine.name:<40} {machine.zone:<10} {machine.address:<16} {machine.state}")


def _age(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h {seconds % 3600 // 60:02} min"


def _ending(installation: Installation, found: Demo) -> str:
    sign_in = _credentials(installation.place)
    lines = [
        "Ringmaster runs.",
        f"  Console    {installation.public_url}",
        f"  Sign in    {sign_in['email']}   {sign_in['password']}",
    ]
    if found.cluster is None:
        lines.append("  Cluster    demo was deleted; `make demo` orders it again")
    else:
        points = " ".join(f"{address}:{found.port}" for address in found.contact_points)
        lines.append(f"  CQL        {points}  (TLS; cluster demo is {found.cluster['state']})")
        lines.append('  Query      make query Q="SELECT data_center, rack, host_id FROM system.local"')
    lines.append("  Stop       make down")
    return "\n".join(lines)


def _credentials(place: Layout) -> dict[str, str]:
    try:
        credentials: dict[str, str] = json.loads(place.credentials_file.read_text())
    except FileNotFoundError:
        raise StartError(
            f"{place.credentials_file} is gone, and with it the first owner's password and token.\n"
            "`make clean` and `make up` begin anew; everything ordered here is lost with that."
        ) from None
    return credentials


@contextmanager
def _alone(place: Layout) -> Iterator[None]:
    """One `up` or `dev` at a time for a run folder, which is made, or marked as ours while it is still empty."""
    place.run.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not place.marker.exists():
        if any(place.run.iterdir()):
            raise StartError(f"{place.run} holds other things: name an empty folder in RINGMASTER_RUN_DIR")
        place.marker.write_text("A run folder of Ringmaster. `make clean` removes it with all that it holds.\n")
    with (place.run / "launcher.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartError("another `make up` or `make dev` of this checkout is at work") from None
        yield


if __name__ == "__main__":
    sys.exit(main())
