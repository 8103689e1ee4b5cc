"""MB/s of an online restore of about 1 GB with every object verified, against `nodetool import` of the same files.

Ours fetches the objects from a folder, verifies all of them, and has the running engine take them. The other side does
what `nodetool import --copy-data` does of a folder with the plain files: copies them to the data (not made to last),
and has the engine verify checksums and tokens and take them, with nodetool's own arguments; it is spared the start of
nodetool's JVM. In the notes: how fast its second half is alone, of files that are there already and are moved; how
fast two threads only copy the files and make them last, the least that a restore from elsewhere has to do; and how fast
cassandra-medusa downloads its backup of them, which it does not verify, without what a restore of its does then.
Rows are counted after every run. Prints one JSON object as its last line; `ratio` is ours divided by the other.

    python -m e2e.bench.restore [--pairs 3] [--mebibytes 1024]
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from e2e.bench.backup import ENCRYPTION, copy, medusa_of, settle, snapshot, upload
from e2e.bench.one_node import KEYSPACE, TABLE, OneNode, count, files_of, fill, one_node
from e2e.medusa import VERSION, CannotInstall

LEAST_RATIO = 0.85
_IMPORT = "importNewSSTables(java.util.Set,boolean,boolean,boolean,boolean,boolean,boolean)"
_BEAN = f"org.apache.cassandra.db:type=Tables,keyspace={KEYSPACE},table={TABLE}"


def main() -> int:
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--pairs", type=int, default=3)
    given.add_argument("--mebibytes", type=int, default=1024)
    options = given.parse_args()
    ours: list[float] = []
    imports: list[float] = []
    moved: list[float] = []
    copies: list[float] = []
    cpu: list[float] = []
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch, one_node(Path(scratch)) as node:
        rows = fill(node, mebibytes=options.mebibytes)
        store, kept = Path(scratch) / "store", Path(scratch) / "kept"
        store.mkdir()
        stored = back_up(node, store)
        files = files_of(node, "restored")
        size = sum(path.stat().st_size for path in files)
        kept.mkdir()
        for path in files:
            os.link(path, kept / path.name)
        for number in range(options.pairs):
            for side in ("ours", "import") if number % 2 else ("import", "ours"):
                node.do("truncate-tables", {"tables": [{"keyspace": KEYSPACE, "table": TABLE}]})
                if side == "import":
                    copied, imported = import_plainly(node, kept)
                    imports.append(size / (copied + imported) / 1e6)
                    moved.append(size / imported / 1e6)
                else:
                    before = node.cpu_seconds()
                    ours.append(size / restore(node, f"run-{number}", store, stored) / 1e6)
                    cpu.append((node.cpu_seconds() - before) / (size / 1e9))
                found = count(node, rows)
                if found != rows:
                    raise RuntimeError(f"{found} of {rows} rows came back")
            settle()
            copies.append(size / copy(sorted(kept.iterdir()), Path(scratch) / "copy") / 1e6)
            print(f"pair {number + 1}: ours {ours[-1]:.0f} MB/s, import {imports[-1]:.0f} MB/s", flush=True)
        theirs = medusa_downloads(node, Path(scratch) / "medusa", size, options.pairs)
    ratio = statistics.median(ours) / statistics.median(imports)
    of_copy = statistics.median(ours) / statistics.median(copies)
    figures = {
        "name": "restore",
        "ours": round(statistics.median(ours), 1),
        "other": round(statistics.median(imports), 1),
        "unit": "MB/s",
        "ratio": round(ratio, 3),
        "runs": options.pairs,
        "notes": (
            f"{size / 1e9:.2f} GB in {len(stored)} objects, fetched, every one verified, and imported, against what "
            f"nodetool import --copy-data does; {rows} rows counted after each; "
            f"ours {min(ours):.0f}-{max(ours):.0f}, import {min(imports):.0f}-{max(imports):.0f}, "
            f"without its copy {statistics.median(moved):.0f}; a bare copy made to last "
            f"{statistics.median(copies):.0f}, ours {of_copy:.2f} of that; "
            f"{statistics.median(cpu):.2f} CPU-s of the agent a GB; {theirs}"
        ),
    }
    print(json.dumps(figures))
    return 0 if ratio >= LEAST_RATIO else 1


def medusa_downloads(node: OneNode, place: Path, size: int, runs: int) -> str:
    """In words."""
    try:
        medusa = medusa_of(node, place)
    except CannotInstall as error:
        return f"cassandra-medusa {VERSION} could not be installed: {error}"
    medusa.back_up("restored", mode="full")
    rates = []
    for number in range(runs):
        settle()
        began = time.monotonic()
        medusa.download("restored", place / f"download-{number}")
        rates.append(size / (time.monotonic() - began) / 1e6)
        shutil.rmtree(place / f"download-{number}")
    return f"cassandra-medusa {VERSION} downloads {statistics.median(rates):.0f} ({min(rates):.0f}-{max(rates):.0f})"


def back_up(node: OneNode, store: Path) -> list[dict[str, object]]:
    snapshot(node, "restored")
    node.do("index-snapshot", {"tag": "restored", "encryption": ENCRYPTION})
    keys = [bundle.key for bundle in node.client.bundles("restored").items]
    found: list[dict[str, object]] = upload(node, "restored", store, keys)[0]["stored"]
    return found


def restore(node: OneNode, name: str, store: Path, stored: list[dict[str, object]]) -> float:
    settle()
    bundles = [{**one, "keyspace": KEYSPACE, "table": TABLE} for one in stored]
    fetch = {
        "restore": name,
        "store": {"kind": "folder", "folder": str(store)},
        "encryption": ENCRYPTION,
        "bundles": bundles,
        "parallel": 2,
    }
    seconds = node.do("fetch-bundles", fetch)[1]
    seconds += node.do("import-bundles", {"restore": name, "keyspace": KEYSPACE, "table": TABLE, "check_tokens": True})[
        1
    ]
    node.do("drop-restore", {"restore": name})
    return seconds


def import_plainly(node: OneNode, kept: Path) -> tuple[float, float]:
    """Seconds to copy the files, and seconds that the engine takes for them."""
    source = node.folder / "cassandra" / "plain" / KEYSPACE / TABLE
    source.mkdir(parents=True)
    settle()
    began = time.monotonic()
    for path in kept.iterdir():
        shutil.copyfile(path, source / path.name)
    copied = time.monotonic()
    reset_level, clear_repaired, verify, verify_tokens, invalidate_caches, extended = (
        False,
        False,
        True,
        True,
        True,
        False,
    )
    arguments = (reset_level, clear_repaired, verify, verify_tokens, invalidate_caches, extended)
    failed = node.manage(_BEAN, _IMPORT, [str(source)], *arguments)
    ended = time.monotonic()
    if failed:
        raise RuntimeError(f"not imported: {failed}")
    shutil.rmtree(source.parents[1])
    return copied - began, ended - copied


if __name__ == "__main__":
    raise SystemExit(main())
