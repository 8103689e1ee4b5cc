"""`python -m provisioner.providers.gcp_emulator`: serves an empty world and prints its address on one line."""

import argparse
import sys

from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--project", default="test-project")
    parser.add_argument("--operation-seconds", type=float, default=0.0)
    parser.add_argument("--boot-seconds", type=float, default=0.0)
    arguments = parser.parse_args()
    world = World(
        project=arguments.project,
        operation_seconds=arguments.operation_seconds,
        boot_seconds=arguments.boot_seconds,
    )
    emulator = ComputeEmulator(world, port=arguments.port)
    sys.stdout.write(f"{emulator.url}\n")
    sys.stdout.flush()
    emulator.serve()


if __name__ == "__main__":
    main()
