"""EC2's XML, as far as it is written or changed here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15"


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    content_type: str = "text/xml"


def error(code: str, message: str, status: int = 400) -> Answer:
    document = (
        f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
        "<RequestID>emulated</RequestID></Response>"
    )
    return Answer(status, document.encode())


def ec2(action: str, content: Mapping[str, Any]) -> Answer:
    """`content` by element name; a mapping nests, a sequence becomes `item` elements."""
    body = "".join(_element(name, value) for name, value in content.items())
    return Answer(200, f'<{action}Response xmlns="{_NAMESPACE}">{body}</{action}Response>'.encode())


def as_launch(described: bytes) -> Answer:
    """The answer of RunInstances for the one instance that an answer of DescribeInstances shows."""
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(described)
    reservation = root.find(f"{{{_NAMESPACE}}}reservationSet/{{{_NAMESPACE}}}item")
    launched = ElementTree.Element(f"{{{_NAMESPACE}}}RunInstancesResponse")
    launched.extend(reservation if reservation is not None else [])
    return Answer(200, ElementTree.tostring(launched))


def _element(name: str, value: Any) -> str:
    match value:
        case Mapping():
            content = "".join(_element(inner, one) for inner, one in value.items())
        case str():
            content = escape(value)
        case Sequence():
            content = "".join(_element("item", one) for one in value)
        case _:
            content = escape(str(value))
    return f"<{name}>{content}</{name}>"
