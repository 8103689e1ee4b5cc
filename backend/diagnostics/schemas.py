"""Diagnostics on the wire."""

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.core.schemas import AllowedAction, Line, RequestBody
from backend.diagnostics.states import DiagnosisState, LogLevel, Question, QuestionParameter
from backend.operations.schemas import Operation

Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,222}$")]
Unit = Literal["text", "flag", "time", "count", "bytes", "seconds", "milliseconds", "ratio"]
Value = str | bool | int | float | None


class QuestionOrder(RequestBody):
    question: Question = Field(strict=False)
    keyspace: Word | None = None
    table: Word | None = Field(None, description="With its keyspace")
    seconds: int | None = Field(None, ge=1, le=60, description="How long to sample; null: 10")
    minutes: int | None = Field(None, ge=1, le=60, description="How long to read files at most; null: 10")
    limit: int | None = Field(None, ge=1, le=1000, description="How many rows or lines; null: 200")
    level: LogLevel | None = Field(None, strict=False, description="The least severe wanted of a log; null: all")
    search: Annotated[Line, StringConstraints(min_length=1, max_length=100)] | None = Field(
        None, description="What lines of a log must hold, whatever its case"
    )
    before: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,16}-\d{1,18}$")] | None = Field(
        None, description="The `before` of an earlier answer: the lines before those are wanted"
    )


class AnswerFact(Schema):
    label: str
    unit: Unit
    value: Value = Field(description="null: not known")


class AnswerColumn(Schema):
    title: str
    unit: Unit = Field(description="text, flag, time (RFC 3339), or of a number; ratio is 0 to 1")


class AnswerTable(Schema):
    title: str
    columns: list[AnswerColumn]
    rows: list[list[Value]] = Field(description="A value per column; null: not known")
    left: int = Field(description="How many rows more there were than are told")


class LogLine(Schema):
    at: str = Field(description="As the engine wrote it, in the machine's own time zone")
    level: str
    thread: str
    source: str
    text: str


class AnswerLog(Schema):
    lines: list[LogLine] = Field(description="In the order in which they were written")
    before: str = Field(description="What to ask with for what was written before; empty: there is no more")


class FlameNode(Schema):
    """A function, called by the one above it."""

    name: str
    samples: int = Field(description="In which it ran, itself or what it called")
    children: list["FlameNode"] = []


class AnswerFlame(Schema):
    samples: int
    root: FlameNode


class AnswerFile(Schema):
    """Something to download, 1 MiB at most."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}\.pcap$")]
    media_type: Literal["application/vnd.tcpdump.pcap"]
    content: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*={0,2}$", max_length=1_398_104)] = Field(
        description="In base64"
    )


class Answer(Schema):
    """Every question is answered with some of these parts."""

    taken_at: datetime = Field(description="By the node's clock")
    facts: list[AnswerFact] = []
    tables: list[AnswerTable] = []
    log: AnswerLog | None = None
    flame: AnswerFlame | None = None
    file: AnswerFile | None = None
    notes: list[str] = Field([], description="Sentences about what the answer does and does not hold")


class DiagnosisProblem(Schema):
    code: str = Field(description="Stable, for programs")
    message: str


class Diagnosis(Schema):
    id: str
    question: Question
    title: str
    node_id: str
    node_name: str
    parameters: dict[QuestionParameter, str | int]
    state: DiagnosisState
    asked_by: str
    asked_at: datetime
    answered_at: datetime | None
    operation_id: str
    problem: DiagnosisProblem | None = Field(description="Why there is no answer")


class DiagnosisDetail(Diagnosis):
    answer: Answer | None = Field(description="null: not yet, or there is none")


class QuestionFacts(Schema):
    question: Question
    title: str
    description: str
    takes: list[QuestionParameter] = Field(description="Parameters that it has")
    needs: list[QuestionParameter] = Field(description="Those among them that must be given")
    samples: bool = Field(description="It watches or reads for a while; one at a time on a node")


class Diagnostics(Schema):
    questions: list[QuestionFacts]
    asked: list[Diagnosis] = Field(description="Of the last day, newest first, 50 at most")
    allowed_actions: list[AllowedAction]


class Asked(Schema):
    diagnosis: Diagnosis
    operation: Operation
