"""What a text of CQL is, as far as must be known before it is run: one statement or several, reading or writing, and
where its literals are.

The tokens are those of Cassandra's lexer (`src/antlr/Lexer.g`). Where that and this could differ in what is a comment,
comments are not sent: `Statement.bare` has spaces in their place, so that lines and columns stay what they are.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    SPACE = "space"
    COMMENT = "comment"
    TEXT = "text"
    NAME = "name"
    NUMBER = "number"
    WORD = "word"
    SYMBOL = "symbol"


@dataclass(frozen=True)
class Token:
    kind: Kind
    text: str

    def is_word(self, word: str) -> bool:
        return self.kind is Kind.WORD and self.text.upper() == word


class NotOneStatement(Exception):
    """What is wrong with a text, in one sentence, and what to do about it."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


_DIGITS = "[0-9a-fA-F]"
_TOKEN = re.compile(
    rf"""
      (?P<space>   [ \t\r\n]+ )
    | (?P<comment> (?: -- | // ) [^\r\n]* | /\* .*? \*/ )
    | (?P<text>    ' (?: [^'] | '' )* ' | \$\$ .*? \$\$ )
    | (?P<name>    " (?: [^"] | "" )* " )
    | (?P<number>  {_DIGITS}{{8}} - {_DIGITS}{{4}} - {_DIGITS}{{4}} - {_DIGITS}{{4}} - {_DIGITS}{{12}}
                 | 0 [xX] {_DIGITS}*
                 | [0-9]+ (?: \. [0-9]* )? [eE] [+-]? [0-9]+
                 | [0-9] [0-9A-Za-z]* (?: \. [0-9]* )? )
    | (?P<word>    [A-Za-z] [A-Za-z0-9_]* )
    | (?P<symbol>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNFINISHED = {"'": "text", '"': "name in quotation marks", "$$": "text between $$", "/*": "comment"}

READING = frozenset({"SELECT", "DESCRIBE", "DESC", "LIST"})
# What cqlsh does by itself and no engine knows.
_CQLSH = frozenset(
    {
        *("CAPTURE", "CLEAR", "CLS", "CONSISTENCY", "COPY", "EXIT", "EXPAND", "HELP", "LOGIN", "PAGING", "QUIT"),
        *("SERIAL", "SHOW", "SOURCE", "TRACING", "UNICODE"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """`verb`: its first word in capitals, BATCH for a batch. `bare`: without its comments and what is around it."""

    verb: str
    bare: str
    tokens: tuple[Token, ...]

    @property
    def reads(self) -> bool:
        """It changes nothing. One that grants, describes or lists is told by its first word, as the engine does."""
        return self.verb in READING

    def without_passwords(self) -> str:
        """The text as it was written; where it may hold a password all its texts are hidden."""
        return _joined(self.tokens, frozenset({Kind.TEXT}) if self._about_passwords() else frozenset(), "'***'")

    def without_literals(self) -> str:
        """For the audit log: what was done to which table, and not with which values. Comments are left out too."""
        return _joined(_solid(self.tokens), frozenset({Kind.TEXT, Kind.NUMBER}), "?")

    def _about_passwords(self) -> bool:
        words = [token.text.lower() for token in self.tokens if token.kind in (Kind.WORD, Kind.NAME)]
        return any("password" in word for word in words) or bool({"role", "user"} & set(words[1:2]))


def tokens_of(text: str) -> tuple[Token, ...]:
    """Raises NotOneStatement when a text, name or comment has no end."""
    found = []
    for match in _TOKEN.finditer(text):
        token = Token(Kind(str(match.lastgroup)), match.group())
        if token.kind is Kind.SYMBOL:
            for opening, what in _UNFINISHED.items():
                if text.startswith(opening, match.start()):
                    line = text.count("\n", 0, match.start()) + 1
                    raise NotOneStatement(
                        "statement_unfinished", f"The {what} that begins in line {line} has no end.", "Close it."
                    )
            if token.text == "\0":
                raise NotOneStatement("statement_unreadable", "The text holds a NUL.", "Take it out.")
        found.append(token)
    return tuple(found)


def statement_of(text: str) -> Statement:
    """The one statement of a text. Raises NotOneStatement."""
    tokens = tokens_of(text)
    solid = _solid(tokens)
    while solid and solid[-1].text == ";":
        solid = solid[:-1]
    if not solid or all(token.text in ("", " ", ";") for token in solid):
        raise NotOneStatement("statement_missing", "There is no statement.", "Write one.")
    first = solid[0]
    if first.kind is not Kind.WORD:
        raise NotOneStatement(
            "statement_unreadable", f"A statement begins with a word, not with {first.text[:20]!r}.", "Begin with one."
        )
    verb = first.text.upper()
    if verb in _CQLSH:
        raise NotOneStatement(
            "cqlsh_command", f"{verb} is a command of cqlsh, not of CQL.", "The console has fields for what it sets."
        )
    if verb == "USE":
        raise NotOneStatement("use_statement", "USE has no effect here.", "Give the keyspace beside the statement.")
    if verb == "BEGIN":
        _check_end(solid, "APPLY" if not any(token.is_word("TRANSACTION") for token in solid[:3]) else "COMMIT")
        verb = "BATCH"
    elif any(token.text == ";" for token in solid):
        raise _several()
    bare = _joined(tokens, frozenset({Kind.COMMENT}), None)
    return Statement(verb=verb, bare=bare.rstrip(" \t\r\n;"), tokens=tokens)


def _check_end(solid: tuple[Token, ...], word: str) -> None:
    """A batch has semicolons within, and nothing behind its end."""
    ends = [place for place, token in enumerate(solid) if token.is_word(word)]
    if ends and any(token.text == ";" for token in solid[ends[0] :]):
        raise _several()


def _several() -> NotOneStatement:
    return NotOneStatement(
        "several_statements",
        "There is more than one statement.",
        "Run them one by one: in the console, select the one that is to run.",
    )


def _solid(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Without comments and with one space where there was any, none at the ends."""
    kept: list[Token] = []
    for token in tokens:
        if token.kind not in (Kind.SPACE, Kind.COMMENT):
            kept.append(token)
        elif kept and kept[-1].kind is not Kind.SPACE:
            kept.append(Token(Kind.SPACE, " "))
    while kept and kept[-1].kind is Kind.SPACE:
        kept.pop()
    return tuple(kept)


def _joined(tokens: tuple[Token, ...], hidden: frozenset[Kind], instead: str | None) -> str:
    """`instead` None: spaces, with the line breaks kept."""
    parts = []
    for token in tokens:
        if token.kind not in hidden:
            parts.append(token.text)
        else:
            parts.append(re.sub(r"[^\r\n]", " ", token.text) if instead is None else instead)
    return "".join(parts)
