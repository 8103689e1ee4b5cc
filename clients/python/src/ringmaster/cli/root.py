"""The whole command line: groups of the API's commands, and the few that are written by hand."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from ringmaster.cli import commands, failures, progress, show
from ringmaster.cli.access import login, profile
from ringmaster.cli.cqlsh import cqlsh
from ringmaster.cli.session import Session, TransportOf, over_the_network
from ringmaster.cli.terraform import tf
from ringmaster.errors import RingmasterError
from ringmaster.version import __version__


class _Group(click.Group):
    """The commands of one noun. Built when they are needed: there are hundreds."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        own = super().list_commands(ctx)
        return sorted([*own, *(row["command"] for row in commands.rows_of(self.name or ""))])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        own = super().get_command(ctx, name)
        rows = (row for row in commands.rows_of(self.name or "") if row["command"] == name)
        return own or next(map(commands.command, rows), None)


class _Root(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *commands.table()["groups"]])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        groups = commands.table()["groups"]
        # `cluster get` is what people type who think of one.
        name = name if name in groups or f"{name}s" not in groups else f"{name}s"
        if name not in groups:
            return super().get_command(ctx, name)
        group = _Group(name, help=groups[name])
        if name == "operations":
            group.add_command(_wait)
        return group


_EXITS = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in failures.MEANINGS.items())


@click.group(
    cls=_Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, epilog=_EXITS
)
@click.option("--profile", help="As whom, see `ringmaster profile list`")
@click.version_option(__version__, prog_name="ringmaster")
@click.pass_context
def root(context: click.Context, profile: str | None) -> None:
    """Order CQL database clusters and run them.

    A command for each operation of the API: `ringmaster clusters list`, `ringmaster clusters get shop --json`.
    Clusters are named by id or by name. Sign in with `ringmaster login`, or set RINGMASTER_URL and RINGMASTER_TOKEN.
    """
    transport_of: TransportOf = context.obj or over_the_network
    context.obj = Session(profile, transport_of)


root.add_command(login)
root.add_command(profile)
root.add_command(cqlsh)
root.add_command(tf)


@click.command("wait")
@click.argument("operation")
@click.option("--timeout", type=float, help="Seconds to wait at most")
@click.option("--json", "as_json", is_flag=True, help="Print the operation when it has succeeded")
@click.pass_obj
def _wait(session: Session, operation: str, timeout: float | None, as_json: bool) -> None:
    """Follow an operation to its end, with its steps."""
    done = progress.wait(session.transport, operation, timeout=timeout)
    if as_json:
        show.as_json(done)


@root.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, options and names of clusters.

    \b
    bash: ringmaster completion bash > ~/.local/share/bash-completion/completions/ringmaster
    zsh:  ringmaster completion zsh > "${fpath[1]}/_ringmaster"
    fish: ringmaster completion fish > ~/.config/fish/completions/ringmaster.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    sys.stdout.write(kind(root, {}, "ringmaster", "_RINGMASTER_COMPLETE").source() + "\n")


def run(arguments: list[str], *, transport_of: TransportOf | None = None) -> int:
    """Returns the exit code, and tells what went wrong on the standard error output."""
    try:
        result = root.main(
            arguments,
            prog_name="ringmaster",
            standalone_mode=False,
            complete_var="_RINGMASTER_COMPLETE",
            obj=transport_of,
        )
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        sys.stderr.write("Nothing was done.\n")
        return failures.INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        return failures.exit_code(problem)
    except RingmasterError as problem:
        failures.tell(problem, as_json="--json" in arguments)
        return failures.exit_code(problem)
    except BrokenPipeError:
        sys.stderr.close()
        return failures.FAILED
    except KeyboardInterrupt:
        return failures.INTERRUPTED
