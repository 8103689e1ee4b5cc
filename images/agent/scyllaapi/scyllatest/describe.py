#!/usr/bin/env python3
"""Makes described.json of ScyllaDB's own description of its REST API: describe.py FOLDER COMMIT

FOLDER is api/api-doc of a checkout of https://github.com/scylladb/scylladb at COMMIT. Only facts are taken (paths,
verbs, parameters, types), and only of the operations that described.json names already: those that the agent calls. To
add one, add its name with an empty object and run this. The description is part of ScyllaDB (AGPL-3.0, since 2025.1 the
ScyllaDB Source Available License); none of its text is kept. The PyPI package scylla-api-client does not ship it: it
asks a running engine for it.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent / "described.json"


def kind(about: dict) -> str:
    """A type as one word: void, string, long …, the name of a model; in brackets: a list of it."""
    reference = about.get("$ref") or about.get("type") or "void"
    if reference == "array":
        return f"[{kind(about.get('items', {'type': 'string'}))}]"
    return reference.rpartition("/")[2]


def parameter(about: dict) -> dict:
    found = {"in": about.get("paramType", about.get("in")), "type": kind(about)}
    if about.get("required"):
        found["required"] = True
    if "enum" in about:
        found["enum"] = about["enum"]
    return found


def main() -> None:
    folder, commit = Path(sys.argv[1]), sys.argv[2]
    before = json.loads(HERE.read_text())
    operations, models = {}, {}
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_text())
        except json.JSONDecodeError:
            continue  # The fragments that ScyllaDB puts together itself are no documents.
        for name, model in document.get("models", {}).items():
            models.setdefault(name, {field: kind(about) for field, about in model.get("properties", {}).items()})
        for api in document.get("apis", []):
            for operation in api["operations"]:
                taken = sorted(operation["parameters"], key=lambda about: about["name"])
                operations[f"{operation['method']} {api['path']}"] = {
                    "returns": kind(operation),
                    "parameters": {about["name"]: parameter(about) for about in taken},
                }
    if gone := sorted(before["operations"].keys() - operations.keys()):
        sys.exit(f"the agent calls what ScyllaDB no longer describes: {', '.join(gone)}")
    kept = {name: operations[name] for name in sorted(before["operations"])}
    needed, due = {}, [operation["returns"].strip("[]") for operation in kept.values()]
    while due:
        name = due.pop()
        if name in models and name not in needed:
            needed[name] = models[name]
            due += [field.strip("[]") for field in models[name].values()]
    source = {"repository": "github.com/scylladb/scylladb", "folder": "api/api-doc", "commit": commit}
    HERE.write_text(written(source, kept, dict(sorted(needed.items()))))


def written(source: dict, operations: dict, models: dict) -> str:
    """One line for each thing, so that a difference can be read."""
    lines = [f' "source": {json.dumps(source)},', ' "operations": {']
    for name, things in (("operations", operations), ("models", models)):
        if name == "models":
            lines += [" },", ' "models": {']
        entries = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in things.items()]
        lines += [entry + "," for entry in entries[:-1]] + entries[-1:]
    return "\n".join(["{", *lines, " }", "}", ""])


if __name__ == "__main__":
    main()
