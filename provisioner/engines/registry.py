"""The one place that knows every engine."""

from provisioner.engines.base import Engine
from provisioner.engines.cassandra.engine import CassandraEngine
from provisioner.engines.scylla.engine import ScyllaEngine

_ENGINES: dict[str, Engine] = {engine.name: engine for engine in (CassandraEngine(), ScyllaEngine())}


def engine(name: str) -> Engine:
    """The engine of this name. LookupError."""
    if name not in _ENGINES:
        raise LookupError(f"there is no engine {name!r}; there are {', '.join(sorted(_ENGINES))}")
    return _ENGINES[name]


def engine_names() -> list[str]:
    return sorted(_ENGINES)
