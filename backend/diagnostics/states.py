"""The questions that a node can be asked, in words, and who may ask. Their names are the agent's too."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from backend.clusters.states import ClusterState

# How long an answer is kept. Answers may hold keys and values of data.
KEPT = timedelta(days=1)
MOST_ANSWER_BYTES = 2 * 1024 * 1024
# Of an organisation.
MOST_PER_MINUTE = 60


class DiagnosisState(StrEnum):
    ASKED = "asked"
    ANSWERED = "answered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Question(StrEnum):
    STATUS = "status"
    RING = "ring"
    TABLE_STATISTICS = "table-statistics"
    THREAD_POOLS = "thread-pools"
    COMPACTIONS = "compactions"
    STREAMS = "streams"
    CLIENTS = "clients"
    MEMORY = "memory"
    LOG = "log"
    SLOW_QUERIES = "slow-queries"
    HOT_PARTITIONS = "hot-partitions"
    FLAME_GRAPH = "flame-graph"
    SSTABLES = "sstables"
    CQL_TRAFFIC = "cql-traffic"
    NODE_TRAFFIC = "node-traffic"


class QuestionParameter(StrEnum):
    KEYSPACE = "keyspace"
    TABLE = "table"
    SECONDS = "seconds"
    MINUTES = "minutes"
    LIMIT = "limit"
    LEVEL = "level"
    SEARCH = "search"
    BEFORE = "before"


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


@dataclass(frozen=True, kw_only=True)
class About:
    """`takes`: which parameters it has; `needs`: those among them that must be given. `samples`: for a while."""

    title: str
    description: str
    takes: tuple[QuestionParameter, ...] = ()
    needs: tuple[QuestionParameter, ...] = ()

    @property
    def samples(self) -> bool:
        return QuestionParameter.SECONDS in self.takes or QuestionParameter.MINUTES in self.takes


_P = QuestionParameter
QUESTIONS: dict[Question, About] = {
    Question.STATUS: About(
        title="Status",
        description="The ring as the node sees it, its mode, version and disk: nodetool status and info.",
    ),
    Question.RING: About(
        title="Ring of a keyspace",
        description="Which node holds which range of tokens: nodetool describering.",
        takes=(_P.KEYSPACE, _P.LIMIT),
        needs=(_P.KEYSPACE,),
    ),
    Question.TABLE_STATISTICS: About(
        title="Table statistics",
        description="Size, SSTables, latencies, tombstones and largest partition of each table: nodetool tablestats.",
        takes=(_P.KEYSPACE, _P.TABLE, _P.LIMIT),
    ),
    Question.THREAD_POOLS: About(
        title="Thread pools",
        description="What is being done, waits and was dropped: nodetool tpstats.",
        takes=(_P.LIMIT,),
    ),
    Question.COMPACTIONS: About(
        title="Compactions", description="What is being compacted, and what waits: nodetool compactionstats."
    ),
    Question.STREAMS: About(
        title="Streams and messages",
        description="Data that moves between nodes, messages that wait or failed, hints: nodetool netstats.",
        takes=(_P.LIMIT,),
    ),
    Question.CLIENTS: About(
        title="CQL clients",
        description="Who is connected, as which role, with which driver: nodetool clientstats.",
        takes=(_P.LIMIT,),
    ),
    Question.MEMORY: About(
        title="Memory and collections",
        description="The heap, what its collectors cost, and the pauses that were logged.",
    ),
    Question.LOG: About(
        title="Log",
        description="The engine's log, the newest lines first to come, page by page.",
        takes=(_P.LEVEL, _P.SEARCH, _P.LIMIT, _P.BEFORE),
    ),
    Question.SLOW_QUERIES: About(
        title="Slow queries",
        description="Reads that took longer than the engine's limit, and which of them filter.",
        takes=(_P.KEYSPACE, _P.TABLE, _P.LIMIT),
    ),
    Question.HOT_PARTITIONS: About(
        title="Hot partitions",
        description="Watches for some seconds which partitions are read and written most: nodetool profileload.",
        takes=(_P.KEYSPACE, _P.TABLE, _P.SECONDS),
    ),
    Question.FLAME_GRAPH: About(
        title="Flame graph",
        description="Samples for some seconds in which functions the engine spends its time.",
        takes=(_P.SECONDS,),
    ),
    Question.SSTABLES: About(
        title="SSTable analysis",
        description="Reads a snapshot of a table beside the engine, slowly: its largest partitions, those with the "
        "most tombstones, histograms of sizes and rows, and each file.",
        takes=(_P.KEYSPACE, _P.TABLE, _P.MINUTES),
        needs=(_P.KEYSPACE, _P.TABLE),
    ),
    Question.CQL_TRAFFIC: About(
        title="CQL traffic",
        description="Captures packets of clients for some seconds, and counts requests by kind, table and client; with "
        "the packets to download.",
        takes=(_P.SECONDS, _P.LIMIT),
    ),
    Question.NODE_TRAFFIC: About(
        title="Traffic between nodes",
        description="Captures packets of other nodes for some seconds, and counts messages by kind and node; with the "
        "packets to download.",
        takes=(_P.SECONDS, _P.LIMIT),
    ),
}


def reason_against_asking(
    *, may: bool, answers: bool, cluster: ClusterState, node_deleted: bool = False, has_machine: bool = True
) -> str | None:
    """`answers`: the engine's nodes can be asked. A cluster that does not serve can be: that is when one asks."""
    if not may:
        return "Your role or token may not ask nodes."
    if not answers:
        return "Nodes of this engine cannot be asked yet."
    if cluster is ClusterState.DELETED or node_deleted:
        return "It is deleted."
    return None if has_machine else "It has no machine yet."
