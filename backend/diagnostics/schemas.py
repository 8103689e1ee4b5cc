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
    question: Question = Field(
        strict=False,
        description="What to ask; get_diagnostics tells of each which of the other fields it takes and needs",
        examples=["table-statistics"],
    )
    keyspace: Word | None = Field(
        None, description="To look at; null: all, where the question does not need one", examples=["shop"]
    )
    table: Word | None = Field(
        None, description="With its keyspace; null: all, where the question does not need one", examples=["orders"]
    )
    seconds: int | None = Field(None, ge=1, le=60, description="How long to sample; null: 10")
    minutes: int | None = Field(None, ge=1, le=60, description="How long to read files at most; null: 10")
    limit: int | None = Field(None, ge=1, le=1000, description="How many rows or lines; null: 200")
    level: LogLevel | None = Field(None, strict=False, description="The least severe wanted of a log; null: all")
    search: Annotated[Line, StringConstraints(min_length=1, max_length=100)] | None = Field(
        None, description="What lines of a log must hold, whatever its case", examples=["GC pause"]
    )
    before: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,16}-\d{1,18}$")] | None = Field(
        None, description="The `before` of an earlier answer: the lines before those are wanted"
    )


class AnswerFact(Schema):
    label: str = Field(description="What it is, for people")
    unit: Unit = Field(description="Of the value: text, flag and time (RFC 3339) are no numbers; ratio is 0 to 1")
    value: Value = Field(description="null: not known")


class AnswerColumn(Schema):
    title: str = Field(description="What is in it, for people")
    unit: Unit = Field(description="text, flag, time (RFC 3339), or of a number; ratio is 0 to 1")


class AnswerTable(Schema):
    title: str = Field(description="What it tells, for people")
    columns: list[AnswerColumn] = Field(description="In the order of each row's values")
    rows: list[list[Value]] = Field(description="A value per column; null: not known")
    left: int = Field(description="How many rows more there were than are told")


class LogLine(Schema):
    at: str = Field(description="As the engine wrote it, in the machine's own time zone")
    level: str = Field(description="DEBUG, INFO, WARN or ERROR; the engine may write TRACE, too")
    thread: str = Field(description="Name of the engine's thread that wrote it")
    source: str = Field(description="File and line of the engine's code, as it wrote them")
    text: str = Field(description="With the lines below it that belong to it; 8 KiB at most. Passwords are hidden")


class AnswerLog(Schema):
    lines: list[LogLine] = Field(description="In the order in which they were written")
    before: str = Field(description="What to ask with for what was written before; empty: there is no more")


class FlameNode(Schema):
    """A function, called by the one above it."""

    name: str = Field(description="Function with its class; below the root a pool of threads; the root is all")
    samples: int = Field(description="In which it ran, itself or what it called")
    children: list["FlameNode"] = Field(
        [], description="What it called, the most often seen first; those that were hardly seen are left out"
    )


class AnswerFlame(Schema):
    samples: int = Field(description="How many stacks of threads that run Java code were seen, sampled every 10 ms")
    root: FlameNode = Field(description="All of them together")


class AnswerFile(Schema):
    """Something to download, 1 MiB at most."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,40}\.pcap$")] = Field(
        description="To save it under, for example cql-traffic.pcap"
    )
    media_type: Literal["application/vnd.tcpdump.pcap"] = Field(
        description="Captured packets, as tcpdump and Wireshark read them"
    )
    content: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*={0,2}$", max_length=1_398_104)] = Field(
        description="In base64"
    )


class Answer(Schema):
    """Every question is answered with some of these parts."""

    taken_at: datetime = Field(description="By the node's clock")
    facts: list[AnswerFact] = Field([], description="Single values; empty: there are none")
    tables: list[AnswerTable] = Field([], description="Empty: there are none")
    log: AnswerLog | None = Field(
        None, description="A page of the engine's log; null: the question is about something else"
    )
    flame: AnswerFlame | None = Field(
        None, description="Where threads spent their time; null: the question is about something else"
    )
    file: AnswerFile | None = Field(None, description="Captured packets; null: the question is about something else")
    notes: list[str] = Field([], description="Sentences about what the answer does and does not hold")


class DiagnosisProblem(Schema):
    code: str = Field(description="Stable, for programs")
    message: str = Field(description="What happened, for people")


class Diagnosis(Schema):
    id: str = Field(description="Id of the question: dgn_…")
    question: Question = Field(description="As asked")
    title: str = Field(description="The question in words")
    node_id: str = Field(description="Id of the node that was asked")
    node_name: str = Field(description="Name of that node")
    parameters: dict[QuestionParameter, str | int] = Field(description="As given; what was left out is not in it")
    state: DiagnosisState = Field(description="asked (no answer yet), answered, failed (see problem) or cancelled")
    asked_by: str = Field(
        description=(
            "Who asked: e-mail address or name of a service account, with the API token's name in brackets if "
            "one was used"
        )
    )
    asked_at: datetime = Field(description="When it was asked; a day later question and answer are forgotten")
    answered_at: datetime | None = Field(description="When it was answered, failed or was cancelled; null: not yet")
    operation_id: str = Field(description="Id of the operation that asks the node: cancel it to stop sampling")
    problem: DiagnosisProblem | None = Field(description="Why there is no answer; null: it did not fail")


class DiagnosisDetail(Diagnosis):
    answer: Answer | None = Field(description="null: not yet, or there is none")


class QuestionFacts(Schema):
    question: Question = Field(description="To be sent to ask_node")
    title: str = Field(description="The question in words")
    description: str = Field(description="What is answered, and by which command of nodetool")
    takes: list[QuestionParameter] = Field(description="Parameters that it has")
    needs: list[QuestionParameter] = Field(description="Those among them that must be given")
    samples: bool = Field(description="It watches or reads for a while; one at a time on a node")


class Diagnostics(Schema):
    questions: list[QuestionFacts] = Field(
        description="All that there are, whatever the engine; one that cannot answer says not-supported"
    )
    asked: list[Diagnosis] = Field(description="Of the last day, newest first, 50 at most")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: ask_node")


class Asked(Schema):
    diagnosis: Diagnosis = Field(description="As it was asked: read it again for the answer")
    operation: Operation = Field(description="The operation that asks the node")
