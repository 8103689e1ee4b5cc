"""The local provider's machines as the launcher sees them: all of them at once, while the control plane is down."""

from __future__ import annotations

import time
from pathlib import Path

from provisioner.providers.base import Machine, MachineState, ProviderError
from provisioner.providers.local.folders import StateFolder
from provisioner.providers.local.machines import LocalMachines
from provisioner.providers.local.power import cut_power

STOP_SECONDS = 75.0


class MachinesError(RuntimeError):
    """Some machines did not do as told. The text names them."""


def present(run: Path) -> list[Machine]:
    """Every machine of this installation."""
    return _machines(run).list() if (run / "machines").is_dir() else []


def start(run: Path) -> int:
    """Switch on every machine that is off; returns how many. Raises MachinesError."""
    off = [machine for machine in present(run) if machine.state is MachineState.STOPPED]
    for machine in off:
        try:
            _machines(run).start(machine.name)
        except ProviderError as error:
            raise MachinesError(f"{machine.name} does not start: {error.message} {error.hint}".rstrip()) from error
    return len(off)


def stop(run: Path, *, seconds: float = STOP_SECONDS) -> int:
    """Switch off every machine that is on, side by side, in an orderly way; returns how many.

    One that has not ended after `seconds` loses its power: its engine recovers from its commit log at the next start.
    """
    on = _on(run)
    for machine in on:
        _machines(run).stop(machine.name)
    deadline = time.monotonic() + seconds
    while (left := _on(run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for machine in left:
        _machines(run).kill(machine.name)
    return len(on)


def cut_all_power(run: Path) -> None:
    """End every process of every machine at once, of half-made ones too: their folders are about to be removed.

    Raises MachinesError when a process does not end.
    """
    folders = [folder for folder in (run / "machines").glob("*") if folder.is_dir()]
    # Processes are found by their folder's one name, as the provider spells it.
    stubborn = [folder.name for folder in folders if not cut_power(folder.resolve(), within_seconds=10)]
    if stubborn:
        raise MachinesError(f"processes of {', '.join(stubborn)} do not end: see `ps`, then try again")


def _on(run: Path) -> list[Machine]:
    return [machine for machine in present(run) if machine.state is not MachineState.STOPPED]


def _machines(run: Path) -> LocalMachines:
    return LocalMachines(StateFolder.at(run))
