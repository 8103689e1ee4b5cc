"""Which code belongs to which kind of operation. The only place that knows all kinds."""

from provisioner.operations.base import OperationCode

_CODES: dict[str, OperationCode] = {}


def register(code: OperationCode) -> None:
    """Make a kind known to this process. ValueError when another code already answers to its name."""
    known = _CODES.setdefault(code.kind, code)
    if known is not code:
        raise ValueError(f"the kind {code.kind} is registered twice")


def find(kind: str) -> OperationCode | None:
    """The code of a kind; None when this release does not know it (a newer one planned it)."""
    return _CODES.get(kind)


def register_all() -> None:
    """Make every kind of this release known. Workers call it once; the runner's own tests need none of them."""
    from provisioner.operations import create_cluster, delete_cluster, rotate_credentials

    for code in (create_cluster.CODE, delete_cluster.CODE, rotate_credentials.CODE):
        register(code)
