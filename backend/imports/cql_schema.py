"""Reads the CREATE statements of a schema.cql: what DESCRIBE, a snapshot, or cassandra-medusa writes. Pure.

Only as much as an import has to know: what each statement makes, the columns of tables to compare them, and where
replicas were. The statements go to the engine nearly as they are: names get their keyspace, and options of tables
that engines do not know any more are left out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<text>\$\$.*?\$\$|'(?:[^']|'')*')"""
    r"""|(?P<quoted>"(?:[^"]|"")*")"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<number>-?[0-9][A-Za-z0-9_.+]*)"""
    r"""|(?P<sign>.)""",
    re.DOTALL,
)
_GONE = frozenset(
    {"read_repair_chance", "dclocal_read_repair_chance", "index_interval", "replicate_on_write", "nodesync"}
)
"""Options of tables that were taken out in 4.0 or before, or are of DSE."""
ORDER = ("keyspace", "type", "function", "aggregate", "table", "index", "materialized_view")
_MAKES: Mapping[tuple[str, ...], str] = {
    ("keyspace",): "keyspace",
    ("type",): "type",
    ("function",): "function",
    ("aggregate",): "aggregate",
    ("table",): "table",
    ("columnfamily",): "table",
    ("index",): "index",
    ("custom", "index"): "index",
    ("materialized", "view"): "materialized_view",
}
_SAME_TYPE = {"varchar": "text"}


class NotUnderstood(ValueError):
    """The statements are not what creates a schema; the message names the first that is not."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """`kind`: partition_key, clustering, regular or static, as the engine says it."""

    name: str
    kind: str
    type: str


@dataclass(frozen=True, kw_only=True)
class Made:
    """What one statement makes. `columns`: of a table. `replication`: of a keyspace, by data centre."""

    type: str
    keyspace: str
    name: str
    statement: str
    columns: tuple[Column, ...] = ()
    of_table: str = ""
    replication: Mapping[str, int] = field(default_factory=dict)

    def document(self) -> dict[str, str]:
        """As the agent's create-schema takes it, and the keyspace."""
        return {"type": self.type, "keyspace": self.keyspace, "name": self.name, "statement": self.statement}


@dataclass(frozen=True)
class _Token:
    text: str
    name: str
    """What a name stands for; empty: it is none."""

    def is_word(self, *words: str) -> bool:
        return not self.text.startswith('"') and self.name in words


def read(cql: str, *, only: Sequence[str] = ()) -> list[Made]:
    """In the order in which it can be made. `only`: keyspaces whose statements count; empty: all. NotUnderstood."""
    made: list[Made] = []
    current = ""
    for tokens in _statements(cql):
        words = _solid(tokens)
        first = words[0]
        if first.is_word("use"):
            current = words[1].name if len(words) > 1 else ""
        elif first.is_word("alter") and len(words) > 1 and words[1].is_word("table"):
            _altered(made, tokens, current)
        elif first.is_word("create"):
            made.append(_made(tokens, current))
        else:
            raise NotUnderstood(f"This creates nothing: {_short(tokens)}")
    unique: dict[tuple[str, str, str], Made] = {}
    for one in made:
        if not only or one.keyspace in only:
            unique.setdefault((one.type, one.keyspace, one.name or one.statement), one)
    return sorted(unique.values(), key=lambda one: ORDER.index(one.type))


def same_type(one: str, other: str) -> bool:
    """Whether two types are written differently only."""
    return _plain(one) == _plain(other)


def _plain(type_: str) -> str:
    found = [_SAME_TYPE.get(token.name, token.name) or token.text for token in _tokens(type_) if token.text.strip()]
    return "".join(found)


def _tokens(cql: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(cql):
        text = match.group()
        match match.lastgroup:
            case "space":
                found.append(_Token(" ", ""))
            case "word":
                found.append(_Token(text, text.lower()))
            case "quoted":
                found.append(_Token(text, text[1:-1].replace('""', '"')))
            case _:
                found.append(_Token(text, ""))
    return found


def _statements(cql: str) -> list[list[_Token]]:
    """A batch of CQL has no semicolons of its own but in texts."""
    found: list[list[_Token]] = [[]]
    for token in _tokens(cql):
        if token.text == ";":
            found.append([])
        else:
            found[-1].append(token)
    return [tokens for tokens in found if _solid(tokens)]


def _solid(tokens: Sequence[_Token]) -> list[_Token]:
    return [token for token in tokens if token.text != " "]


def _text(tokens: Sequence[_Token]) -> str:
    return "".join(token.text for token in tokens).strip()


def _short(tokens: Sequence[_Token]) -> str:
    text = re.sub(r"\s+", " ", _text(tokens))
    return text if len(text) <= 80 else f"{text[:80]}…"


def _altered(made: list[Made], tokens: list[_Token], current: str) -> None:
    """A column that was dropped, or is there again: it belongs to the statement that makes the table."""
    keyspace, name, tokens = _named(tokens, after=2, current=current)
    for position, one in enumerate(made):
        if (one.type, one.keyspace, one.name) == ("table", keyspace, name):
            made[position] = Made(
                type="table",
                keyspace=keyspace,
                name=name,
                statement=f"{one.statement};\n{_text(tokens)}",
                columns=_after(one.columns, _solid(tokens)),
            )
            return
    raise NotUnderstood(f"The table is not created before: {_short(tokens)}")


def _after(columns: tuple[Column, ...], words: Sequence[_Token]) -> tuple[Column, ...]:
    """The columns when one was dropped, or added."""
    for position, word in enumerate(words):
        rest = words[position + 1 :]
        if word.is_word("drop") and rest:
            return tuple(column for column in columns if column.name != rest[0].name)
        if word.is_word("add") and len(rest) > 1:
            return (*columns, _column(rest)[0])
    return columns


def _made(tokens: list[_Token], current: str) -> Made:
    words = _solid(tokens)
    position = 1
    if len(words) > position + 1 and words[1].is_word("or"):
        position = 3
    for length in (2, 1):
        kind = _MAKES.get(tuple(word.name for word in words[position : position + length]))
        if kind is not None:
            return _made_of(kind, tokens, after=position + length, current=current)
    raise NotUnderstood(f"This creates nothing that is known here: {_short(tokens)}")


def _made_of(kind: str, tokens: list[_Token], *, after: int, current: str) -> Made:
    if kind == "keyspace":
        words = _solid(tokens)
        name = _skip_if_not_exists(words, after)[0].name
        return Made(type=kind, keyspace=name, name=name, statement=_text(tokens), replication=_replication(words))
    if kind == "index":
        return _index(tokens, after=after, current=current)
    keyspace, name, tokens = _named(tokens, after=after, current=current)
    if kind == "materialized_view":
        return Made(type=kind, keyspace=keyspace, name=name, statement=_text(tokens))
    if kind != "table":
        return Made(type=kind, keyspace=keyspace, name=name, statement=_text(tokens))
    return Made(
        type=kind,
        keyspace=keyspace,
        name=name,
        statement=_text(_without_gone(tokens)),
        columns=tuple(_columns(_solid(tokens), f"{keyspace}.{name}")),
    )


def _skip_if_not_exists(words: Sequence[_Token], position: int) -> list[_Token]:
    rest = list(words[position:])
    if len(rest) > 3 and rest[0].is_word("if"):
        rest = rest[3:]
    if not rest or not rest[0].name:
        raise NotUnderstood(f"A name is missing: {_short(words)}")
    return rest


def _named(tokens: list[_Token], *, after: int, current: str) -> tuple[str, str, list[_Token]]:
    """Keyspace and name of what stands after so many words, and the tokens with the keyspace put in."""
    rest = _skip_if_not_exists(_solid(tokens), after)
    if len(rest) > 2 and rest[1].text == ".":
        return rest[0].name, rest[2].name, tokens
    if not current:
        raise NotUnderstood(f"Write the keyspace before the name: {_short(tokens)}")
    where = next(position for position, token in enumerate(tokens) if token is rest[0])
    put = [_Token(_quoted(current), current), _Token(".", "")]
    return current, rest[0].name, [*tokens[:where], *put, *tokens[where:]]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _index(tokens: list[_Token], *, after: int, current: str) -> Made:
    words = _solid(tokens)
    rest = list(words[after:])
    if len(rest) > 3 and rest[0].is_word("if"):
        rest = rest[3:]
    name = "" if not rest or rest[0].is_word("on") else rest[0].name
    on = next((position for position, word in enumerate(words) if position >= after and word.is_word("on")), None)
    if on is None:
        raise NotUnderstood(f"The table is missing: {_short(tokens)}")
    keyspace, table, tokens = _named(tokens, after=on + 1, current=current)
    return Made(type="index", keyspace=keyspace, name=name, statement=_text(tokens), of_table=table)


def _replication(words: Sequence[_Token]) -> dict[str, int]:
    """By data centre; of SimpleStrategy under replication_factor."""
    found: dict[str, int] = {}
    for position, word in enumerate(words[:-2]):
        value = words[position + 2].text.strip("'")
        if word.text.startswith("'") and words[position + 1].text == ":" and value.isdigit():
            found[word.text.strip("'")] = int(value)
    return found


def _columns(words: Sequence[_Token], table: str) -> list[Column]:
    opened = next((position for position, word in enumerate(words) if word.text == "("), None)
    if opened is None:
        raise NotUnderstood(f"{table} has no columns.")
    parts = _parts(words[opened + 1 :])
    columns: list[Column] = []
    partition: list[str] = []
    clustering: list[str] = []
    for part in parts:
        if part[0].is_word("primary") and len(part) > 2 and part[2].text == "(":
            partition, clustering = _key(part[3:])
            continue
        column, is_key = _column(part)
        columns.append(column)
        if is_key:
            partition = [column.name]
    if not partition:
        raise NotUnderstood(f"{table} has no primary key.")
    kinds = dict.fromkeys(partition, "partition_key") | dict.fromkeys(clustering, "clustering")
    return [Column(name=one.name, kind=kinds.get(one.name, one.kind), type=one.type) for one in columns]


def _column(part: Sequence[_Token]) -> tuple[Column, bool]:
    """And whether it is the primary key alone."""
    end = len(part)
    for position, word in enumerate(part[1:], 1):
        if word.is_word("static", "primary", "masked"):
            end = min(end, position)
    if not part[0].name or end < 2:
        raise NotUnderstood(f"This is no column: {_text(part)}")
    rest = part[end:]
    static = any(word.is_word("static") for word in rest)
    type_ = "".join(word.text + (" " if word.text == "," else "") for word in part[1:end])
    column = Column(name=part[0].name, kind="static" if static else "regular", type=type_)
    return column, any(word.is_word("primary") for word in rest)


def _parts(words: Sequence[_Token]) -> list[list[_Token]]:
    """What stands between commas, up to the closing parenthesis."""
    depth = 0
    found: list[list[_Token]] = [[]]
    for word in words:
        if word.text in ("(", "<", "{", "["):
            depth += 1
        elif word.text in (")", ">", "}", "]"):
            if depth == 0:
                break
            depth -= 1
        if word.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def _key(words: Sequence[_Token]) -> tuple[list[str], list[str]]:
    first, *rest = _parts(words)
    partition = [word.name for word in first if word.name]
    return partition, [part[0].name for part in rest]


def _without_gone(tokens: list[_Token]) -> list[_Token]:
    """Options stand after WITH, joined with AND."""
    start = _after_columns(tokens)
    begins = next((p for p in range(start, len(tokens)) if tokens[p].is_word("with")), None)
    if begins is None:
        return tokens
    options: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens[begins + 1 :]:
        depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
        if depth == 0 and token.is_word("and"):
            options.append([])
        else:
            options[-1].append(token)
    kept = [one for one in options if _solid(one) and _solid(one)[0].name not in _GONE]
    if not kept:
        return tokens[:begins]
    with_, and_ = _Token("WITH", "with"), _Token("AND", "and")
    joined = [token for one in kept for token in (and_, *one)][1:]
    return [*tokens[:begins], with_, *joined]


def _after_columns(tokens: Sequence[_Token]) -> int:
    depth = 0
    for position, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == ")" and depth == 0:
            return position
    return 0
