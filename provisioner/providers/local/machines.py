"""Machines of the local provider by name: make, find, start, stop, kill, delete.

A machine is whole or not there: it is made in a folder beside, and renamed. Whoever changes one holds its lock, so
concurrent calls take turns, and every call looks at what is there first, so a call after a crash goes on from it.
"""

import builtins
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from provisioner.providers.base import (
    InvalidRequest,
    Machine,
    MachineSpec,
    MachineState,
    NotFound,
    OutOfCapacity,
    ProviderError,
)
from provisioner.providers.local import memory
from provisioner.providers.local.addresses import AGENT_PORT, choose_address
from provisioner.providers.local.folders import (
    MachineRecord,
    StateFolder,
    read_record,
    spec_hash,
    write_json,
    write_record,
)
from provisioner.providers.local.locks import locked
from provisioner.providers.local.power import cut_power, has_power, power_on, press_power_button

# A call answers in seconds: what has not ended by then is asked for again.
_KILL_SECONDS = 1.5


class LocalMachines:
    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def ensure(self, spec: MachineSpec, *, user_data: dict[str, Any], agent_binary: Path) -> Machine:
        """The machine of this spec, running. `user_data` is completed with what only the machine's place tells."""
        if not agent_binary.is_file():
            raise ProviderError(f"There is no agent at {agent_binary}.", hint="Build it with `make setup`.")
        folder = self._state.machine(spec.name)
        with self._turn(spec.name):
            record = read_record(folder)
            if record is None or record.deleting:
                if not self._remove(spec.name):
                    raise ProviderError(f"An earlier machine {spec.name} is still ending.")
                _check_memory(spec.name, spec.memory_mib)
                record = self._make(spec, user_data, agent_binary)
            elif record.spec_hash != spec_hash(spec):
                raise InvalidRequest(
                    f"Machine {spec.name} exists and was made from another spec.",
                    hint="Delete it first, or ask for it as it was asked for the first time.",
                )
            _start(folder, record)
        return _machine(folder, record)

    def find(self, name: str) -> Machine | None:
        folder = self._state.machine(name)
        record = read_record(folder)
        return None if record is None else _machine(folder, record)

    def records(self) -> Iterator[MachineRecord]:
        return self._state.records()

    def list(self) -> builtins.list[Machine]:
        return [_machine(self._state.machine(record.name), record) for record in self._state.records()]

    def start(self, name: str) -> None:
        with self._existing(name) as record:
            _start(self._state.machine(name), record)

    def stop(self, name: str) -> None:
        """Returns at once; the machine is STOPPED when its engine has ended, which may take a minute."""
        with self._existing(name):
            press_power_button(self._state.machine(name))

    def kill(self, name: str) -> None:
        with self._existing(name):
            if not cut_power(self._state.machine(name), within_seconds=_KILL_SECONDS):
                raise ProviderError(
                    f"Some process of {name} does not end.", hint="It may hang in the kernel; see `ps`."
                )

    def delete(self, name: str) -> bool:
        """True when no process and no file of the machine is left; False when it must be asked again."""
        folder = self._state.machine(name)
        with self._turn(name):
            record = read_record(folder)
            if record is not None and not record.deleting:
                write_record(folder, replace(record, deleting=True))
            return self._remove(name)

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Hold the machine's lock; the lock file goes with the machine."""
        lock = self._state.machine_lock(name)
        with locked(lock):
            try:
                yield
            finally:
                if not (self._state.machine(name).exists() or self._state.unfinished_machine(name).exists()):
                    # While we hold it: whoever waits sees that this is no longer the file to lock (locks.py).
                    lock.unlink()

    @contextmanager
    def _existing(self, name: str) -> Iterator[MachineRecord]:
        """The machine under its lock. NotFound, also when its end has begun."""
        folder = self._state.machine(name)
        if read_record(folder) is None:
            raise NotFound(f"There is no machine {name}.")
        with self._turn(name):
            record = read_record(folder)
            if record is None or record.deleting:
                raise NotFound(f"There is no machine {name}.")
            yield record

    def _make(self, spec: MachineSpec, user_data: dict[str, Any], agent_binary: Path) -> MachineRecord:
        unfinished = self._state.unfinished_machine(spec.name)
        # Held until the address is on disk under a name that others read, so that no two machines choose the same.
        with locked(self._state.address_lock()):
            address = choose_address(
                state_dir=self._state.root, name=spec.name, zone=spec.zone, held=self._state.held_addresses()
            )
            record = MachineRecord(
                name=spec.name,
                network=spec.network,
                zone=spec.zone,
                machine_type=spec.machine_type,
                memory_mib=spec.memory_mib,
                image=spec.image,
                address=address,
                agent_binary=str(agent_binary),
                spec_hash=spec_hash(spec),
                tags=dict(spec.tags),
            )
            unfinished.mkdir(mode=0o700)
            write_record(unfinished, record)
        (unfinished / "data").mkdir(mode=0o700)
        place = {"address": address, "listen": f"{address}:{AGENT_PORT}"}
        write_json(unfinished / "user-data.json", user_data | place)
        unfinished.rename(self._state.machine(spec.name))
        return record

    def _remove(self, name: str) -> bool:
        """Processes first, then files, the record last: an end that was interrupted is found and gone on with."""
        folder = self._state.machine(name)
        if not cut_power(folder, within_seconds=_KILL_SECONDS):
            return False
        unfinished = self._state.unfinished_machine(name)
        if unfinished.exists():
            shutil.rmtree(unfinished)
        if folder.exists():
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                elif entry.name != "machine.json":
                    entry.unlink()
            shutil.rmtree(folder)
        return True


def _start(folder: Path, record: MachineRecord) -> None:
    if not has_power(folder):
        _check_memory(record.name, record.memory_mib)
    power_on(folder, agent_binary=Path(record.agent_binary))


def _check_memory(name: str, needed_mib: int) -> None:
    free_mib = memory.available_mib()
    if free_mib < needed_mib:
        raise OutOfCapacity(
            f"Machine {name} needs {needed_mib} MiB of memory and {free_mib} MiB are free on this computer.",
            hint="Stop something that uses memory and retry, or cancel and order fewer or smaller nodes.",
        )


def _machine(folder: Path, record: MachineRecord) -> Machine:
    return Machine(
        id=record.name,
        name=record.name,
        zone=record.zone,
        state=MachineState.RUNNING if has_power(folder) else MachineState.STOPPED,
        address=record.address,
        agent_address=f"{record.address}:{AGENT_PORT}",
        tags=dict(record.tags),
    )
