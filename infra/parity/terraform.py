"""What the Terraform provider calls: methods of its client with the paths that its code makes of words.

It reads the forms that the provider has: literals, `client.Path(...)`, functions of one line that return a path,
variables, sums, `plain.Documents{At: ...}`, and `Listed: ...` of a `plain.List`. A path in another form is not seen:
its operation counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ANY = "*"
Segments = tuple[str, ...]
Call = tuple[str, Segments]

_CALL = re.compile(r"\.(Get|Post|Put|Patch|Delete)\(ctx, ")
_EVERY = re.compile(r"client\.Every\[[^(]*\]\(ctx, [\w.]+, ")
_FUNCTION = re.compile(r"^func ([pP]ath)\([^)]*\) string \{\s*return (.*?)\s*\}$", re.MULTILINE)
_DOCUMENTS = re.compile(r'plain\.Documents\[[^{]*\]\{\s*At:\s*"([^"]+)"([^}]*)')
_LISTED = re.compile(r'\bListed:\s*"([^"]+)"')


def calls(provider: Path) -> set[Call]:
    """Method and segments of each call, `*` for what only a run knows."""
    files = [file for file in provider.rglob("*.go") if file.name != "client.go" and "_test" not in file.name]
    texts = {file: file.read_text() for file in files}
    functions = {
        (file.parent.name, name): body for file, text in texts.items() for name, body in _FUNCTION.findall(text)
    }
    found = set[Call]()
    for file, text in texts.items():
        for match in _CALL.finditer(text):
            if segments := _segments(_argument(text, match.end()), text, file.parent.name, functions):
                found.add((match[1].upper(), segments))
        for match in _EVERY.finditer(text):
            if segments := _segments(_argument(text, match.end()), text, file.parent.name, functions):
                found.add(("GET", segments))
        for at, others in _DOCUMENTS.findall(text):
            place = tuple(at.split("/"))
            methods = [("GET", ANY), ("DELETE", ANY)]
            methods += [("PATCH", ANY)] if "Change:" in others else []
            found |= {(method, (*place, one)) for method, one in methods}
            if "Order:" in others:
                found.add(("POST", place))
        for at in _LISTED.findall(text):
            found.add(("GET", tuple(ANY if word.startswith("{") else word for word in at.split("/"))))
    return found


def matches(call: Call, method: str, path: str) -> bool:
    """Whether a call is of that operation; `path` is the description's: /api/v1/clusters/{cluster_id}."""
    wanted = path.removeprefix("/api/v1/").split("/")
    if call[0] != method or len(call[1]) != len(wanted):
        return False
    pairs = zip(call[1], wanted, strict=True)
    return all((said == ANY) if meant.startswith("{") else said == meant for said, meant in pairs)


def _segments(expression: str, text: str, package: str, functions: dict[tuple[str, str], str]) -> Segments:
    """Of a Go expression; empty when it is none that is known."""
    expression = expression.strip()
    if parts := _parts(expression, "+"):
        first = _segments(parts[0], text, package, functions)
        literals = [re.fullmatch(r'"(/[^"?]*)[^"]*"', part.strip()) for part in parts[1:]]
        return first + tuple(word for one in literals if one for word in one[1].strip("/").split("/")) if first else ()
    if literal := re.fullmatch(r'"/([^"?]*)\??[^"]*"', expression):
        return tuple(literal[1].split("/"))
    if called := re.fullmatch(r"(?:(\w+)\.)?([pP]ath)\((.*)\)", expression, re.DOTALL):
        where, name, given = called[1] or package, called[2], _parts(called[3], ",") or [called[3]]
        if where == "client":
            return _words(given)
        body = functions.get((where, name))
        made = _segments(body, text, where, functions) if body else ()
        return made + _words(given[1:]) if made and "words..." in (body or "") else made
    if re.fullmatch(r"\w+", expression):
        assigned = re.search(rf"\b{expression} := (client\.Path\(.*\))$", text, re.MULTILINE)
        return _segments(assigned[1], text, package, functions) if assigned else ()
    return ()


def _words(given: list[str]) -> Segments:
    """Literals as they are; `append([]string{"a", b}, words...)...` as its list."""
    joined = ",".join(given)
    if inner := re.match(r"\s*append\(\[\]string\{(.*?)\}", joined):
        given = _parts(inner[1], ",") or [inner[1]]
    words = (re.fullmatch(r'"([^"]*)"', word.strip()) for word in given)
    return tuple(word[1] if word else ANY for word in words)


def _argument(text: str, start: int) -> str:
    """The argument that begins at `start`."""
    return next(iter(_split(text[start : start + 400], ",)")), "")


def _parts(expression: str, sign: str) -> list[str]:
    """The parts between a sign that stands in no brackets and no quotes; none when it does not occur."""
    parts = list(_split(expression, sign))
    return parts if len(parts) > 1 else []


def _split(text: str, signs: str) -> Iterator[str]:
    depth, quoted, part = 0, False, ""
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif not quoted and depth == 0 and letter in signs:
            yield part
            part = ""
            continue
        elif not quoted:
            depth += (letter in "([{") - (letter in ")]}")
        part += letter
    yield part
