"""`python -m infra.clients`: makes what is generated of the Python client and of the command line."""

import subprocess
import sys
from pathlib import Path

from infra.clients import command_line, models, operations
from infra.clients.description import CHECKOUT, read_document

CONSOLE = CHECKOUT / "frontend" / "src" / "api" / "commands.json"
PACKAGE = CHECKOUT / "clients" / "python" / "src" / "ringmaster"


def main() -> int:
    document = read_document()
    try:
        models.write(document, PACKAGE / "models.py")
        (PACKAGE / "operations.py").write_text(_formatted(operations.source(document)))
        (PACKAGE / "cli" / "commands.json").write_text(command_line.table(document))
        CONSOLE.write_text(command_line.words(document))
    except subprocess.CalledProcessError as problem:
        sys.stderr.write(f"{problem.stdout}{problem.stderr or ''}")
        return 1
    except command_line.NameTaken as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


def _formatted(source: str) -> str:
    command = [
        str(Path(sys.executable).with_name("ruff")),
        "format",
        "--no-cache",
        "--stdin-filename=generated.py",
        "-",
    ]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True, cwd=CHECKOUT)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
