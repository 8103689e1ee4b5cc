"""A command for each operation of the API, from the table that `make generate` makes."""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ringmaster.cli import fields, progress, show
from ringmaster.cli.session import Session
from ringmaster.transport import Transport, answer_of, path_of

Row = dict[str, Any]
_QUERY, _BODY, _PATH = "query_", "body_", "path_"
_TAKE_AWAY = ("purge_backup_location",)
"""Besides what is DELETE: operations that take data away."""


@cache
def table() -> dict[str, Any]:
    """`groups` with their descriptions, and `commands`."""
    found: dict[str, Any] = json.loads(resources.files("ringmaster.cli").joinpath("commands.json").read_text())
    return found


def rows_of(group: str) -> list[Row]:
    return [row for row in table()["commands"] if row["group"] == group]


def command(row: Row) -> click.Command:
    """Arguments for the path, options for query and body, and what all commands of its kind have."""
    arguments = [_argument(name) for name in row["arguments"]]
    taken: set[str] = set()
    named = fields.options(row["query"], _QUERY, taken)
    if "body" in row:
        named += fields.options(row["body"], _BODY, taken)
        named.append(click.Option(["--file"], metavar="PATH", help="JSON body; - reads it from standard input"))
    named += _shared(row)
    parameters: list[click.Parameter] = [*arguments, *named]

    @click.pass_obj
    def run(session: Session, /, **values: Any) -> None:
        _run(row, session, values)

    return click.Command(
        row["command"], params=parameters, callback=run, help=row["help"], short_help=_first(row["help"])
    )


def _shared(row: Row) -> list[click.Option]:
    flag = {"is_flag": True}
    found = [click.Option(["--json", "as_json"], help="Print what the API answered", **flag)]
    if row["method"] == "GET":
        found.append(click.Option(["--columns"], help="Fields to show, with commas between: name,state"))
        found.append(click.Option(["--output"], metavar="PATH", help="Write the answer to a file"))
    if row["fields"]:
        found.append(click.Option(["--fields"], help="Ask for these fields only, with commas between: id,nodes.state"))
    if row["tag"]:
        found.append(click.Option(["--etag", "etag"], help="Print its ETag only, for --if-match", **flag))
    if row["pages"]:
        found.append(click.Option(["--all", "every"], help="All pages", **flag))
    if row["operation"] is not None:
        found.append(click.Option(["--wait"], help="Follow the operation to its end", **flag))
        found.append(click.Option(["--timeout"], type=float, help="Seconds to wait at most"))
    if _takes_away(row):
        found.append(click.Option(["--yes"], help="Do not ask", **flag))
    if row["dry_run"]:
        found.append(click.Option(["--dry-run"], help="Check it, and change nothing", **flag))
    if row["condition"]:
        found.append(click.Option(["--if-match"], metavar="ETAG", help="Only if it still has this ETag"))
    if row["key"]:
        found.append(click.Option(["--idempotency-key"], help="Sent again with the same key it happens once"))
    return found


def _argument(name: str) -> click.Argument:
    if name == "cluster_id":
        return click.Argument([f"{_PATH}{name}"], metavar="CLUSTER", shell_complete=cluster_names)
    return click.Argument([f"{_PATH}{name}"], metavar=name.removesuffix("_id").upper())


def cluster_names(context: click.Context, parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    session = context.find_object(Session) or Session(context.find_root().params.get("profile"))
    return [CompletionItem(name) for name in session.cluster_names(beginning)]


def _run(row: Row, session: Session, values: dict[str, Any]) -> None:
    transport = session.transport
    query = fields.given(row["query"], _QUERY, values)
    body = fields.body(row["body"], _BODY, values) if "body" in row else None
    path = {name: values[f"{_PATH}{name}"] for name in row["arguments"]}
    called = " ".join(path.values())
    for place in (path, query):
        if isinstance(place.get("cluster_id"), str):
            place["cluster_id"] = session.cluster_id(place["cluster_id"])
    address = path_of(row["path"], **path)
    if row["stream"]:
        _stream(transport, address, query)
        return
    rehearsal = bool(values.get("dry_run"))
    if _takes_away(row) and not rehearsal and not values["yes"] and sys.stdin.isatty():
        click.confirm(f"{row['id'].replace('_', ' ').capitalize()} {called}?", abort=True, err=True)
    if rehearsal:
        query["dry_run"] = True
    if values.get("fields") is not None:
        query["fields"] = values["fields"]
    key, tag = values.get("idempotency_key"), values.get("if_match")
    sent = transport.send(
        row["method"], address, query=query, body=body, key=key, repeatable=_repeatable(row), if_match=tag
    )
    if values.get("etag"):
        sys.stdout.write(f"{sent.headers['ETag']}\n")
        return
    if rehearsal:
        sys.stderr.write(
            f"It would succeed ({sent.headers.get('Ringmaster-Dry-Run', 'dry run')}). Nothing was changed.\n"
        )
        return
    answer = answer_of(sent)
    if values.get("every"):
        answer = _all(transport, address, query, answer)
    if row["operation"] is not None and values["wait"]:
        answer = _waited(row, transport, answer, values["timeout"])
    _print(row, answer, values)


def _takes_away(row: Row) -> bool:
    return row["method"] == "DELETE" or row["id"] in _TAKE_AWAY


def _repeatable(row: Row) -> bool:
    return row["method"] == "GET" or bool(row["key"])


def _all(transport: Transport, address: str, query: dict[str, Any], page: dict[str, Any]) -> dict[str, Any]:
    items, cursor = list(page["items"]), page["next_cursor"]
    while cursor is not None:
        following = answer_of(transport.send("GET", address, query={**query, "cursor": cursor}))
        items, cursor = items + following["items"], following["next_cursor"]
    return {**page, "items": items, "next_cursor": None}


def _waited(row: Row, transport: Transport, answer: dict[str, Any], timeout: float | None) -> dict[str, Any]:
    field = row["operation"]
    done = progress.wait(transport, (answer[field] if field else answer)["id"], timeout=timeout)
    return {**answer, field: done} if field else done


def _print(row: Row, answer: Any, values: dict[str, Any]) -> None:
    if output := values.get("output"):
        content = answer if isinstance(answer, bytes) else answer.encode() if isinstance(answer, str) else None
        Path(output).write_bytes(json.dumps(answer, indent=2).encode() if content is None else content)
    elif isinstance(answer, bytes) and sys.stdout.isatty():
        raise click.UsageError("The answer is a file: use --output PATH, or send it to another program.")
    elif values["as_json"] and not isinstance(answer, str | bytes):
        if answer is not None:
            show.as_json(answer)
    elif row["operation"] is not None and isinstance(answer, dict):
        _print_operation(answer[row["operation"]] if row["operation"] else answer)
    else:
        show.answer(answer, [word.strip() for word in (values.get("columns") or "").split(",") if word.strip()])
        if isinstance(answer, dict) and row["pages"] and answer.get("next_cursor"):
            sys.stderr.write(f"There is more: --all, or --cursor {answer['next_cursor']}\n")


def _print_operation(operation: dict[str, Any]) -> None:
    sys.stdout.write(f"{operation['id']}  {progress.headline(operation)}\n")
    if not operation["finished_at"]:
        sys.stderr.write(f"Follow it with `ringmaster operations wait {operation['id']}`.\n")


def _stream(transport: Transport, address: str, query: dict[str, Any]) -> None:
    for event in transport.events(address, query):
        sys.stdout.write(json.dumps({"event": event.name, **event.data}) + "\n")
        sys.stdout.flush()


def _first(text: str) -> str:
    return text.partition("\n")[0]
