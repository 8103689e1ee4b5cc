"""Look at local machines and switch them, by hand: `python -m provisioner.providers.local --help`."""

import argparse
import os
import sys
from pathlib import Path

from provisioner.providers.base import MachineState, ProviderError
from provisioner.providers.local.folders import StateFolder
from provisioner.providers.local.machines import LocalMachines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m provisioner.providers.local",
        description="Look at the machines of the local provider and switch them. `kill` is a power loss.",
    )
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=os.environ.get("RINGMASTER_STATE_DIR"),
        help="the provider's state folder; by default the value of RINGMASTER_STATE_DIR",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="name, zone, address and state of every machine")
    for command, meaning in (
        ("stop", "press the power button: the engine is stopped properly"),
        ("start", "switch on: the agent starts, and the engine if it ran before"),
        ("kill", "cut the power: every process ends at once, without warning"),
    ):
        switch = commands.add_parser(command, help=meaning)
        switch.add_argument("name", nargs="?", help="a machine's name, or the end of it that only one has")
        switch.add_argument("--all", action="store_true", help="every machine")
    options = parser.parse_args(arguments)
    if options.state_dir is None:
        parser.error("say where the machines are with --state-dir or RINGMASTER_STATE_DIR")
    if not (options.state_dir / "machines").is_dir():
        parser.error(f"{options.state_dir} holds no machines")
    machines = LocalMachines(StateFolder.at(options.state_dir))
    if options.command == "list":
        for machine in machines.list():
            sys.stdout.write(f"{machine.name}  {machine.zone}  {machine.address:<15}  {machine.state}\n")
        return 0
    if options.all == (options.name is not None):
        parser.error("name one machine, or say --all")
    switch_one = {"stop": machines.stop, "start": machines.start, "kill": machines.kill}[options.command]
    try:
        for name in _chosen(machines, options.name):
            switch_one(name)
            found = machines.find(name)
            state = found.state if found else "gone"
            ending = options.command == "stop" and state == MachineState.RUNNING
            sys.stdout.write(f"{name}  {'shutting down' if ending else state}\n")
    except ProviderError as error:
        sys.stderr.write(f"{error.message} {error.hint}".rstrip() + "\n")
        return 1
    return 0


def _chosen(machines: LocalMachines, name: str | None) -> list[str]:
    known = [machine.name for machine in machines.list()]
    if name is None:
        return known
    matching = [name] if name in known else [other for other in known if other.endswith(name)]
    if len(matching) != 1:
        raise ProviderError(
            f"{'Several machines end' if matching else 'No machine ends'} in {name!r}.", hint="See `list`."
        )
    return matching


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
