"""`python -m infra.contract` compares; `python -m infra.contract release` makes today's the one to keep to."""

import argparse
import sys

from infra.contract import compatibility


def main() -> int:
    """Returns 0 when no program breaks, 1 when one would."""
    parser = argparse.ArgumentParser(prog="contract", description=__doc__)
    parser.add_argument("verb", nargs="?", choices=("check", "release"), default="check")
    if parser.parse_args().verb == "release":
        compatibility.release()
        return 0
    complaints = compatibility.breaks() + compatibility.without_reason()
    if complaints:
        sys.stderr.write("".join(f"{line}\n" for line in complaints) + compatibility.WHAT_TO_DO)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
