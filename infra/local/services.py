"""Private Postgres and Redis: ours alone, on unix sockets, for the launcher and for the tests.

Only the standard library is used, so that this works before anything is installed. Nothing here binds a TCP port.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

DATABASE = "ringmaster"
DATABASE_USER = "ringmaster"

# sockaddr_un holds 108 bytes; ".s.PGSQL.5432.lock" and the separator are added to the folder's own path.
_LONGEST_SOCKET_FOLDER = 88
_START_SECONDS = 30.0
_STOP_SECONDS = 20.0


class ServiceError(RuntimeError):
    """A private service cannot be started. The text says why and what to do."""


def socket_folder(directory: Path) -> Path:
    """A folder for the unix sockets of a service that lives in `directory`, made when missing, mode 0700.

    It is `directory/sock`, unless that is too long for a socket address: then a short folder under the system's temp
    folder, named by a hash of `directory`, so that two checkouts never share one. Raises ServiceError when that
    folder exists and belongs to somebody else.
    """
    folder = directory.resolve() / "sock"
    if len(os.fsencode(folder)) > _LONGEST_SOCKET_FOLDER:
        digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"ringmaster-{digest}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.getuid(), _postgres_uid()}:
        raise ServiceError(f"{folder} belongs to somebody else: remove it or choose another place with TMPDIR")
    return folder


def postgres_url(sockets: Path, database: str = DATABASE) -> str:
    """DATABASE_URL for the Postgres whose socket is in `sockets`."""
    return f"postgresql:///{database}?host={sockets}&user={DATABASE_USER}"


def redis_url(sockets: Path) -> str:
    """REDIS_URL for the Redis whose socket is in `sockets`."""
    return f"unix://{sockets}/redis.sock"


def postgres_program(name: str) -> str:
    """Path of one of Postgres' programs. Debian keeps most of them out of PATH; the newest version wins."""
    versions = sorted(
        (path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / name).exists()),
        key=lambda path: int(path.parent.name) if path.parent.name.isdigit() else 0,
    )
    if versions:
        return str(versions[-1] / name)
    found = shutil.which(name)
    if found is None:
        raise ServiceError(f"Postgres' program `{name}` is missing: apt-get install postgresql")
    return found


def redis_program() -> str:
    """Path of redis-server."""
    found = shutil.which("redis-server")
    if found is None:
        raise ServiceError("redis-server is missing: apt-get install redis-server")
    return found


def postgres_command(data: Path, sockets: Path, *, durable: bool = True, die_with_parent: bool = False) -> list[str]:
    """The command line of a private Postgres. `durable=False` trades safety at power loss for speed (tests only)."""
    command = [postgres_program("postgres"), "-D", str(data), "-k", str(sockets), "-c", "listen_addresses="]
    command += ["-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "timezone=UTC"]
    if not durable:
        command += ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
    return [*_unprivileged(), *dying_with_parent("INT", die_with_parent), *command]


def redis_command(folder: Path, sockets: Path, *, die_with_parent: bool = False) -> list[str]:
    """The command line of a private Redis. It keeps nothing on disk: Ringmaster uses it as a doorbell only."""
    command = [redis_program(), "--port", "0", "--unixsocket", str(sockets / "redis.sock"), "--unixsocketperm", "700"]
    command += ["--dir", str(folder), "--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "notice"]
    return [*dying_with_parent("TERM", die_with_parent), *command]


def prepare_postgres(data: Path, sockets: Path) -> None:
    """Make the database files in `data` unless they are there. Raises ServiceError with initdb's words."""
    if (data / "PG_VERSION").exists():
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    account = fallback_account()
    if account is not None:
        for folder in (data, sockets):
            shutil.chown(folder, account, account)
    made = data.with_name(f"{data.name}.new")
    target = data
    if account is None:
        # Made beside its final place and renamed: an interrupted initdb must not pass for a finished one.
        shutil.rmtree(made, ignore_errors=True)
        data.rmdir()
        target = made
    command = [*_unprivileged(), postgres_program("initdb"), "-D", str(target), "-U", DATABASE_USER, "-A", "trust"]
    command += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd="/")
    if result.returncode != 0:
        hint = "" if account is None else f" (the account {account} must be able to enter every parent folder)"
        shutil.rmtree(target, ignore_errors=True)
        raise ServiceError(f"initdb failed in {data}{hint}:\n{result.stderr.strip()}")
    if target is made:
        made.rename(data)


def create_database(sockets: Path, database: str = DATABASE) -> None:
    """Create the database of DATABASE_URL unless it exists. The server must be up."""
    connection = ["-h", str(sockets), "-U", DATABASE_USER]
    query = f"SELECT 1 FROM pg_database WHERE datname = '{database}'"
    found = _client([postgres_program("psql"), *connection, "-d", "postgres", "-Atc", query])
    if found.stdout.strip() == "1":
        return
    created = _client([postgres_program("createdb"), *connection, database])
    if created.returncode != 0 and "already exists" not in created.stderr:
        raise ServiceError(f"createdb failed: {created.stderr.strip()}")


def postgres_is_ready(sockets: Path) -> bool:
    """Whether the Postgres whose socket is in `sockets` takes connections."""
    probe = [postgres_program("pg_isready"), "-q", "-t", "2", "-h", str(sockets), "-U", DATABASE_USER, "-d", "postgres"]
    return _client(probe).returncode == 0


def redis_is_ready(sockets: Path) -> bool:
    """Whether the Redis whose socket is in `sockets` answers a ping."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(sockets / "redis.sock"))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


@dataclass
class _Service:
    """A child process of ours; what Postgres and Redis have in common. Not for use from several threads."""

    directory: Path
    sockets: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def pid(self) -> int:
        """The pid of the running server. Raises ServiceError when it does not run."""
        if self._process is None:
            raise ServiceError(f"the service in {self.directory} does not run")
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def url(self) -> str:
        """What DATABASE_URL or REDIS_URL has to be to reach it."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it in an orderly way. Does nothing when it does not run."""
        raise NotImplementedError

    def kill(self) -> None:
        """SIGKILL, as a crash would. Does nothing when it does not run."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C in the terminal must not take the database from under the tests.
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )

    def _tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])


@dataclass
class Postgres(_Service):
    """A running private Postgres."""

    @property
    def url(self) -> str:
        """DATABASE_URL of the database `ringmaster` in it."""
        return postgres_url(self.sockets)

    def start(self) -> None:
        """Start and wait until it takes connections (recovery included). Raises ServiceError after 30 seconds."""
        command = postgres_command(self.directory / "data", self.sockets, durable=False, die_with_parent=True)
        deadline = time.monotonic() + _START_SECONDS
        self._process = process = self._launch(command)
        while not postgres_is_ready(self.sockets):
            if process.poll() is not None:
                # After a SIGKILL the old server's children hold its shared memory for a moment longer.
                self._process = process = self._launch(command)
            if time.monotonic() > deadline:
                self.kill()
                raise ServiceError(f"Postgres in {self.directory} does not start:\n{self._tail()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it, closing the connections that are open. Does nothing when it does not run."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        """Stop, start and wait until it takes connections."""
        self.stop()
        self.start()


@dataclass
class Redis(_Service):
    """A running private Redis."""

    @property
    def url(self) -> str:
        """REDIS_URL for it."""
        return redis_url(self.sockets)

    def start(self) -> None:
        """Start and wait for an answer; it is empty then. Raises ServiceError after 30 seconds."""
        self._process = process = self._launch(redis_command(self.directory, self.sockets, die_with_parent=True))
        deadline = time.monotonic() + _START_SECONDS
        while not redis_is_ready(self.sockets):
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ServiceError(f"Redis in {self.directory} does not start:\n{self._tail()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it. Does nothing when it does not run."""
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Stop, start empty and wait for an answer."""
        self.stop()
        self.start()


def start_postgres(directory: Path, prepared: Path | None = None) -> Postgres:
    """Start a private Postgres that keeps its files in `directory` (made when missing), with its database created.

    It begins with a copy of the files in `prepared`, or with none. It ends with the process that started it, and does
    not survive power loss: it is for tests. Raises ServiceError.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if fallback_account() is not None:
        directory.chmod(0o711)
    sockets = socket_folder(directory)
    if prepared is not None:
        # As cp does it: with the owner, who need not be us.
        subprocess.run(["cp", "--archive", "--reflink=auto", prepared, directory / "data"], check=True)
        if (account := fallback_account()) is not None:
            shutil.chown(sockets, account, account)
    prepare_postgres(directory / "data", sockets)
    postgres = Postgres(directory, sockets)
    postgres.start()
    create_database(sockets)
    return postgres


def start_redis(directory: Path) -> Redis:
    """Start a private Redis with its log in `directory` (made when missing). Raises ServiceError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    redis = Redis(directory, socket_folder(directory))
    redis.start()
    return redis


def test_services(prepared: Callable[[], Path]) -> dict[str, str]:
    """DATABASE_URL and REDIS_URL for a test session, exported to the environment too.

    `prepared` answers the files that a Postgres of ours begins with.

    Values that are set already win. Otherwise private servers are started, once per session, and stopped when this
    process exits. Call it while the root conftest is imported: pytest-xdist's controller imports that before it starts
    its workers, which inherit the environment and so share the controller's servers.
    """
    wanted: dict[str, Callable[[Path], Postgres | Redis]] = {
        "DATABASE_URL": lambda folder: start_postgres(folder, prepared()),
        "REDIS_URL": start_redis,
    }
    missing = [name for name in wanted if not os.environ.get(name)]
    if missing:
        folder = Path(tempfile.mkdtemp(prefix="ringmaster-test-"))
        if fallback_account() is not None:
            folder.chmod(0o711)
        # Handlers run last in, first out: the servers stop before their folder goes.
        atexit.register(_in_this_process_only, os.getpid(), partial(shutil.rmtree, folder, ignore_errors=True))
        for name in missing:
            service = wanted[name](folder / name.removesuffix("_URL").lower())
            atexit.register(_in_this_process_only, os.getpid(), service.stop)
            os.environ[name] = service.url
    return {name: os.environ[name] for name in wanted}


def _in_this_process_only(owner: int, action: Callable[[], object]) -> None:
    """Forked children (Celery's prefork, multiprocessing) inherit exit handlers; the servers are not theirs to stop."""
    if os.getpid() == owner:
        action()


def _client(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def dying_with_parent(signal_name: str, wanted: bool) -> list[str]:
    """A prefix that has the kernel end the command when its parent dies, however that dies (Linux only)."""
    setpriv = shutil.which("setpriv") if wanted else None
    return [] if setpriv is None else [setpriv, "--pdeathsig", signal_name, "--"]


def _unshare() -> list[str]:
    return [shutil.which("unshare") or "unshare", "--user", "--map-user=1000", "--map-group=1000"]


@cache
def _can_unshare() -> bool:
    return shutil.which("unshare") is not None and _client([*_unshare(), "true"]).returncode == 0


def _unprivileged() -> list[str]:
    """A prefix that makes the command run as an ordinary account: Postgres refuses to run as root.

    A user namespace needs neither an account nor a change of owner. Where the kernel forbids it (containers, usually),
    Debian's account `postgres` is used.
    """
    if os.getuid() != 0:
        return []
    account = fallback_account()
    if account is None:
        return _unshare()
    return [shutil.which("setpriv") or "setpriv", f"--reuid={account}", f"--regid={account}", "--init-groups", "--"]


def fallback_account() -> str | None:
    """The account to run Postgres as when we are root and the kernel has no user namespaces for us."""
    return "postgres" if os.getuid() == 0 and not _can_unshare() else None


def _postgres_uid() -> int:
    try:
        return pwd.getpwnam("postgres").pw_uid
    except KeyError:
        return os.getuid()
