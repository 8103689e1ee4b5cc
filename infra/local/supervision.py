"""The supervisor (supervisord) of one installation: its configuration, and the conversation with it over a socket."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
import xmlrpc.client
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from supervisor.xmlrpc import Faults, SupervisorTransport

from infra.local.programs import Program

_START_SECONDS = 10.0
# Lines such as "2026-01-31 10:00:00,123 WARN exited: api (terminated by SIGKILL; not expected)".
_CRASH = re.compile(r"^(\S+ \S+?),\d+ \w+ (?:exited: (\S+) \((.*); not expected\)|gave up: (\S+))")


class SupervisionError(RuntimeError):
    """The supervisor or one of its programs does not start. The text says what and where its log is."""


@dataclass(frozen=True)
class ProgramStatus:
    """How a program is. `state` is the supervisor's word, RUNNING when all is well; `up_seconds` is 0 otherwise."""

    name: str
    state: str
    pid: int
    up_seconds: int


@dataclass(frozen=True)
class Crash:
    """A program that ended by itself and was started again."""

    at: str
    name: str
    how: str


@dataclass(frozen=True)
class Supervisor:
    """The supervisor whose files are in `run` and whose socket is in `sockets`."""

    run: Path
    sockets: Path

    @property
    def _socket(self) -> Path:
        return self.sockets / "supervisor.sock"

    @property
    def configuration(self) -> Path:
        return self.run / "supervisord.conf"

    @property
    def log(self) -> Path:
        return self.run / "log" / "supervisor.log"

    def _ask(self, method: str, *arguments: object) -> Any:
        """Call a method of its XML-RPC interface. Raises OSError or HTTPException when nobody answers."""
        transport = SupervisorTransport(None, None, f"unix://{self._socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport, allow_none=True)
        try:
            return getattr(proxy.supervisor, method)(*arguments)
        finally:
            transport.close()

    def is_up(self) -> bool:
        """Whether it runs and answers."""
        try:
            return bool(self._ask("getState")["statename"] == "RUNNING")
        except (OSError, HTTPException):
            return False

    def start(self, python: Path, *, environment: dict[str, str]) -> None:
        """Start it in a session of its own, with none of its programs yet. Raises SupervisionError."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with (self.run / "log" / "supervisor.out").open("wb") as output:
            process = subprocess.Popen(
                [python, "-m", "supervisor.supervisord", "--nodaemon", "--configuration", self.configuration],
                cwd=self.run,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        is_up = False
        try:
            while not (is_up := self.is_up()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SupervisionError(f"The supervisor does not start: see {self.run / 'log'}/supervisor.out")
                time.sleep(0.03)
        finally:
            # Interrupted before it answers, it could not be told to stop.
            if not is_up:
                process.kill()
                process.wait()

    def start_programs(self, names: Sequence[str]) -> None:
        """Start programs side by side; those that run already are left alone. Does not wait until they are ready."""
        for name in names:
            try:
                self._ask("startProcess", name, False)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode != Faults.ALREADY_STARTED:
                    raise SupervisionError(
                        f"{name} does not start ({fault.faultString}): see {self.run / 'log' / name}.log"
                    ) from fault

    def stop_programs(self, names: Sequence[str], *, seconds: float) -> None:
        """Stop programs side by side and wait until they have ended, at most `seconds`."""
        for name in names:
            try:
                self._ask("stopProcess", name, False)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode not in {Faults.NOT_RUNNING, Faults.BAD_NAME}:
                    raise
        deadline = time.monotonic() + seconds
        ended = {"STOPPED", "EXITED", "FATAL"}
        while time.monotonic() < deadline:
            if all(status.state in ended for status in self.status() if status.name in names):
                return
            time.sleep(0.05)

    def status(self) -> list[ProgramStatus]:
        """Its programs in the order of the configuration's names. Raises OSError when it does not answer."""
        return [
            ProgramStatus(
                entry["name"],
                entry["statename"],
                entry["pid"],
                max(0, entry["now"] - entry["start"]) if entry["statename"] == "RUNNING" else 0,
            )
            for entry in self._ask("getAllProcessInfo")
        ]

    def shut_down(self, *, seconds: float = 40.0) -> None:
        """Stop what still runs, and the supervisor itself. Does nothing when it is not up."""
        try:
            process = int(self._ask("getPID"))
            self._ask("shutdown")
        except (OSError, HTTPException):
            return
        deadline = time.monotonic() + seconds
        while _exists(process) and time.monotonic() < deadline:
            time.sleep(0.05)

    def crashes(self) -> list[Crash]:
        """Programs that ended by themselves since the supervisor was started, oldest first."""
        if not self.log.exists():
            return []
        found: list[Crash] = []
        for line in self.log.read_text(errors="replace").splitlines():
            if "supervisord started with pid" in line:
                found = []
            match = _CRASH.match(line)
            if match is not None:
                found.append(Crash(match[1], match[2] or match[4], match[3] or "gave up: it ends at every start"))
        return found


def restarts(crashes: Sequence[Crash]) -> Counter[str]:
    """How often each program crashed."""
    return Counter(crash.name for crash in crashes)


def configuration(supervisor: Supervisor, programs: Sequence[Program], *, cwd: Path) -> str:
    """The text of supervisord.conf."""
    lines = [
        "[unix_http_server]",
        f"file={_literal(supervisor.sockets / 'supervisor.sock')}",
        "chmod=0700",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        "[supervisord]",
        # Relative to the run folder, where it is started: paths in some of these are expanded twice.
        "logfile=log/supervisor.log",
        "pidfile=supervisord.pid",
        "logfile_maxbytes=5MB",
        "logfile_backups=1",
        "nocleanup=true",
        # Names the account on purpose: without it supervisord warns at every start as root.
        *(["user=root"] if os.getuid() == 0 else []),
    ]
    for program in programs:
        lines += [
            f"[program:{program.name}]",
            f"command={_literal(shlex.join(program.command))}",
            f"directory={_literal(cwd)}",
            # Started by the launcher, in order. Restarted for ever: somebody may mend what it stumbles over.
            "autostart=false",
            "autorestart=true",
            "startsecs=1",
            "startretries=1000000",
            f"stopsignal={program.stop_signal}",
            f"stopwaitsecs={program.stop_seconds}",
            "killasgroup=true",
            "redirect_stderr=true",
            f"stdout_logfile=log/{program.name}.log",
            "stdout_logfile_maxbytes=20MB",
            "stdout_logfile_backups=1",
        ]
    return "\n".join(lines) + "\n"


def _literal(value: str | Path) -> str:
    """A value in supervisord's configuration, where % introduces an expansion."""
    return str(value).replace("%", "%%")


def _exists(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
