"""The runner: claim, step, record. The lease lives here and nowhere else.

One call of `run` takes the lease of one operation, runs its steps for about three seconds and hands the lease back. The
database's clock rules every stored time; this process' own clock only measures how long it has been at it.

Nothing here knows Celery: the caller (provisioner/worker.py) sends the next nudge and bounds the time of a call below
the length of the lease, so that a hung call is dead before anyone else may start.
"""

import os
import random
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_any
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum

import structlog
from django.db import InterfaceError, OperationalError, connections, transaction

from backend.operations import coordination, turns
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OperationState, StepState
from provisioner import lease, traces
from provisioner.lease import LeaseLost, Trouble
from provisioner.operations import registry
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, Standing, StepContext, StepFunction, Wait
from provisioner.providers.base import ProviderError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long things may take, in seconds. What must hold: budget + one step call < hard limit < alarm < lease."""

    lease: float = 8.0
    alarm: float = 7.0
    hard_limit: float = 6.0
    budget: float = 3.0
    nap: float = 0.3
    first_back_off: float = 0.5
    longest_back_off: float = 60.0
    unknown: float = 30.0
    between_events: float = 0.1
    barren_claims: int = 10
    threads: int = 16

    @classmethod
    def scaled(cls, factor: float) -> "Limits":
        """All times of a claim made shorter or longer alike; tests shorten them."""
        return cls(lease=8 * factor, alarm=7 * factor, hard_limit=6 * factor, budget=3 * factor)


LIMITS = Limits.scaled(float(os.environ.get("RINGMASTER_TEST_TIME_SCALE", "1")))


class Ending(StrEnum):
    NOT_DUE = "not due"
    HANDED_BACK = "handed back"
    BLOCKED = "blocked"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True)
class Result:
    """How a call of `run` ended. `again_in`: seconds until the operation is due again; None: not by itself.

    `woken`: other operations that became due because this one ended or stands still. The caller rings for them.
    """

    ending: Ending
    again_in: float | None = None
    woken: tuple[str, ...] = ()


def may_stand_before(group: Sequence[OperationStep]) -> bool:
    """Whether a pause may fall before these steps: none has begun, and nothing is half done."""
    return all(step.state == StepState.PENDING and not step.mid_way for step in group)


def run(
    operation_id: str,
    *,
    find_code: Callable[[str], OperationCode | None] = registry.find,
    limits: Limits = LIMITS,
) -> Result:
    """Take an operation some steps further, if it is due and nobody else holds it.

    Errors of the database are not caught: the lease lapses, the retry is already booked.
    """
    claimed = lease.claim(operation_id, token=uuid.uuid4(), seconds=limits.lease)
    if claimed is None:
        return Result(Ending.NOT_DUE)
    operation = claimed.operation
    steps = list(OperationStep.objects.filter(operation_id=operation.id).order_by("position"))
    claim = _Claim(
        operation=operation,
        steps=steps,
        code=find_code(operation.kind),
        limits=limits,
        retry_asked=claimed.retry_asked,
    )
    about = {"operation_id": operation.id, "kind": operation.kind, **traces.trace_id(operation)}
    with structlog.contextvars.bound_contextvars(**about), claim.threads:
        try:
            return claim.work()
        except LeaseLost:
            log.warning("lease lost")
            return Result(Ending.LOST)


@dataclass(kw_only=True)
class _Claim:
    """An operation while we hold its lease. `steps` mirrors the rows; the rows are the truth."""

    operation: Operation
    steps: list[OperationStep]
    code: OperationCode | None
    limits: Limits
    retry_asked: bool
    began: float = field(default_factory=time.monotonic)
    threads: ExitStack = field(default_factory=ExitStack)
    # When a step may be called again, by this process' clock.
    wakes: dict[str, float] = field(default_factory=dict)
    # When a step said that it would probably be done, by the same clock.
    etas: dict[str, float] = field(default_factory=dict)
    # Steps that stand still because of a pause.
    standing: set[str] = field(default_factory=set)
    executor: ThreadPoolExecutor | None = None
    cancel_seen: bool = False
    pause_seen: bool = False
    blocked: Blocked | None = None
    last_event: float = 0.0
    event_owed: bool = False

    def __post_init__(self) -> None:
        self.cancel_seen = self.operation.cancel_requested_at is not None and not self.undoing
        self.pause_seen = self.operation.pause_requested_at is not None
        for step in self.steps:
            if self.retry_asked:
                step.attempt = 0
            elif step.due_at is not None and self.operation.lease_until is not None:
                # The lease ends `limits.lease` after the database's now.
                ahead = (step.due_at - self.operation.lease_until).total_seconds() + self.limits.lease
                self.wakes[step.id] = self.began + ahead

    @property
    def undoing(self) -> bool:
        return self.operation.state == OperationState.CANCELLING

    def work(self) -> Result:
        if self.operation.claims > self.limits.barren_claims:
            return self.block(
                Blocked(
                    "worker-dies",
                    f"The worker died or hung {self.limits.barren_claims} times in a row while it did this.",
                    "Look into the workers' log, then retry; or cancel.",
                )
            )
        if self.code is None:
            return self.leave_alone(f"This release does not know operations of kind {self.operation.kind}.")
        while True:
            if self.cancel_seen and not self.undoing:
                self.turn_back_or_refuse()
            group = self.next_group()
            if not group:
                return self.close()
            if self.pause_seen and not self.undoing and may_stand_before(group):
                return self.park()
            unknown = [step.name for step in group if step.name not in self.code.steps]
            if unknown:
                return self.leave_alone(f"This release does not know the step {unknown[0]}.")
            self.start(group)
            result = self.run_group(group)
            if result is not None:
                return result

    # What is next

    def next_group(self) -> list[OperationStep]:
        """The steps of the group at hand that are not finished yet; empty when there is none left."""
        if self.undoing:
            open_steps = [s for s in self.steps if s.state in {StepState.DONE, StepState.RUNNING, StepState.UNDOING}]
            group = max((s.group for s in open_steps), default=None)
        else:
            open_steps = [s for s in self.steps if s.state in {StepState.PENDING, StepState.RUNNING}]
            group = min((s.group for s in open_steps), default=None)
        return [s for s in open_steps if s.group == group]

    def function(self, step: OperationStep) -> StepFunction:
        assert self.code is not None
        code = self.code.steps[step.name]
        function = (code.undo or _nothing_to_undo) if self.undoing else code.do
        return traces.traced(function, undoing=self.undoing)

    def is_finished(self, step: OperationStep) -> bool:
        return step.state == (StepState.UNDONE if self.undoing else StepState.DONE)

    def can_be_cancelled(self) -> bool:
        last = self.operation.cancellable_until
        return last is None or all(
            s.state in {StepState.PENDING, StepState.SKIPPED} for s in self.steps if s.position >= last
        )

    # Running

    def run_group(self, group: Sequence[OperationStep]) -> Result | None:
        """Run the steps of a group side by side until all are done (None) or it is time to stop."""
        flying: dict[Future[Outcome], OperationStep] = {}
        undoing = self.undoing
        while True:
            waiting = [s for s in group if not self.is_finished(s) and s not in flying.values()]
            if not waiting and not flying:
                return None
            if not self.pause_seen:
                self.standing.clear()
            if not flying and not undoing and self.standing.issuperset(s.id for s in waiting):
                return self.park()
            now = time.monotonic()
            turning = self.cancel_seen and not undoing
            stopping = turning or self.blocked is not None or now - self.began >= self.limits.budget
            awake = [s for s in waiting if self.wakes.get(s.id, 0) <= now and s.id not in self.standing]
            ready = [] if stopping else awake
            if len(ready) == 1 and not flying and len(waiting) == 1:
                self.take_in(ready[0], _call_here(self.function(ready[0]), self.context(ready[0])))
                continue
            for step in ready[: self.limits.threads - len(flying)]:
                flying[self.pool().submit(_call_in_thread, self.function(step), self.context(step))] = step
            naps = [max(0.0, self.wakes.get(s.id, 0) - now) for s in waiting if s not in ready]
            if flying:
                timeout = None if stopping or not naps else min(naps)
                for future in wait_for_any(flying, timeout=timeout, return_when=FIRST_COMPLETED).done:
                    self.take_in(flying.pop(future), future)
            elif self.blocked:
                return self.block(self.blocked)
            elif turning:
                return None
            else:
                nap = min(naps, default=0.0)
                if stopping or nap > self.limits.nap or now + nap - self.began >= self.limits.budget:
                    return self.hand_back(nap)
                time.sleep(nap)

    def context(self, step: OperationStep) -> StepContext:
        wanted = self.pause_seen and not self.undoing
        return StepContext(operation=self.operation, step=step, plan=self.steps, pause_wanted=wanted)

    def pool(self) -> ThreadPoolExecutor:
        if self.executor is None:
            self.executor = self.threads.enter_context(ThreadPoolExecutor(self.limits.threads))
        return self.executor

    def take_in(self, step: OperationStep, call: Future[Outcome]) -> None:
        """Record how a call of a step ended. LeaseLost when it is not ours to record any more."""
        error = call.exception()
        match error:
            case None:
                outcome = call.result()
                match outcome:
                    case Done():
                        self.record_done(step, outcome)
                    case Wait():
                        self.record_wait(step, outcome)
                    case Standing():
                        self.standing.add(step.id)
                        self.record_wait(step, Wait(0, outcome.message))
            case Blocked():
                self.blocked = error
                self.record_failure(step, Trouble(error.code, error.sentence, error.hint), again_in=0.0)
            case ProviderError(retryable=False):
                self.blocked = Blocked(error.code, error.message, error.hint)
                self.record_failure(step, Trouble(error.code, error.message, error.hint), again_in=0.0)
            case Exception():
                log.warning("step failed", step=step.name, target=step.target, exc_info=error)
                trouble = Trouble(
                    getattr(error, "code", None) or "step-failed",
                    f"{step.title}: {error or type(error).__name__}",
                    getattr(error, "hint", ""),
                )
                self.record_failure(step, trouble, again_in=self.back_off(step.attempt))
            case _:
                raise error

    def back_off(self, attempts_before: int) -> float:
        longest = min(self.limits.longest_back_off, self.limits.first_back_off * 2 ** min(attempts_before, 16))
        seconds: float = longest * random.uniform(0.5, 1.0)
        return seconds

    # Recording: one statement each, and only while the lease is ours

    def start(self, group: Sequence[OperationStep]) -> None:
        state = StepState.UNDOING if self.undoing else StepState.RUNNING
        fresh = [s for s in group if s.state != state]
        if fresh:
            self.note(lease.start_steps(self.operation, [s.id for s in fresh], state=state, event=self.event()))
            self.mark_started(fresh)

    def mark_started(self, steps: Sequence[OperationStep]) -> None:
        for step in steps:
            step.state = StepState.UNDOING if self.undoing else StepState.RUNNING
            # About what the database noted: only traces look at it before it is read again.
            if self.undoing:
                step.undo_started_at = traces.now()
            else:
                step.started_at = step.started_at or traces.now()
            if self.undoing:
                step.attempt = 0
                self.wakes.pop(step.id, None)

    def record_done(self, step: OperationStep, outcome: Done) -> None:
        step.state = StepState.UNDONE if self.undoing else StepState.DONE
        step.message, step.progress = outcome.message, 1.0
        if not self.undoing:
            step.output = dict(outcome.output)
        following = self.next_group()
        fresh = [] if any(s.group == step.group for s in following) else self.known(following)
        recorded = lease.record(
            self.operation,
            step,
            trouble=self.trouble_left(),
            progress=self.progress(),
            start=[s.id for s in fresh],
            event=self.event(),
        )
        self.note(recorded)
        traces.step_ended(self.operation, step, undoing=self.undoing)
        if recorded.started:
            self.mark_started(fresh)

    def record_wait(self, step: OperationStep, outcome: Wait) -> None:
        self.wakes[step.id] = time.monotonic() + outcome.seconds
        before = (step.message, step.progress, step.attempt)
        step.message, step.attempt = outcome.what_for, 0
        if outcome.progress is not None and not self.undoing:
            step.progress = max(step.progress, min(outcome.progress, 1.0))
        # Only what is recorded anyway carries an estimate along, or one that comes first or differs much.
        if (step.message, step.progress, step.attempt) != before or self.estimates_anew(step, outcome.eta_seconds):
            self.note(
                lease.record(
                    self.operation,
                    step,
                    trouble=self.trouble_left(),
                    progress=self.progress(),
                    again_in=outcome.seconds,
                    eta=outcome.eta_seconds,
                    event=self.event(),
                )
            )

    def estimates_anew(self, step: OperationStep, eta: float | None) -> bool:
        """Whether an estimate is news: a tenth, and at least two seconds, off the one before."""
        before, now = self.etas.get(step.id), time.monotonic()
        if eta is None:
            return False
        if before is not None and abs(now + eta - before) <= max(2.0, eta / 10):
            return False
        self.etas[step.id] = now + eta
        return True

    def record_failure(self, step: OperationStep, trouble: Trouble, *, again_in: float) -> None:
        self.wakes[step.id] = time.monotonic() + again_in
        step.attempt += 1
        step.message = trouble.sentence
        self.note(
            lease.record(
                self.operation,
                step,
                trouble=trouble,
                progress=self.progress(),
                again_in=again_in,
                event=self.event(),
            )
        )

    def hand_back(self, seconds: float, trouble: Trouble | None = None) -> Result:
        now = time.monotonic()
        wakes = {s.id: max(0.0, self.wakes[s.id] - now) for s in self.next_group() if s.id in self.wakes}
        again_in = lease.hand_back(self.operation, seconds, wakes=wakes, trouble=trouble, event=self.event_owed)
        return Result(Ending.HANDED_BACK, again_in)

    def leave_alone(self, sentence: str) -> Result:
        log.warning("not known here", reason=sentence)
        hint = "It goes on when workers of the release that planned it run. Update the workers."
        self.event_owed = True
        return self.hand_back(self.limits.unknown, Trouble("unknown-here", sentence, hint))

    def block(self, why: Blocked) -> Result:
        if lease.block(self.operation, Trouble(why.code, why.sentence, why.hint)):
            log.error("blocked", code=why.code, reason=why.sentence)
            return Result(Ending.BLOCKED)
        return Result(Ending.HANDED_BACK, 0.0)

    def park(self) -> Result:
        with transaction.atomic():
            parked = lease.park(self.operation)
            woken = turns.settle(self.operation.cluster_id) if parked and self.operation.cluster_id else []
        if not parked:
            return Result(Ending.HANDED_BACK, 0.0)
        log.info("paused")
        return Result(Ending.PAUSED, woken=tuple(woken))

    def turn_back_or_refuse(self) -> None:
        self.cancel_seen = False
        if self.can_be_cancelled():
            lease.turn_back(self.operation)
            self.operation.state = OperationState.CANCELLING
            self.wakes.clear()
            for step in self.steps:
                if step.state == StepState.PENDING:
                    step.state = StepState.SKIPPED
        else:
            sentence = "The request to cancel came when this could no longer be undone; it goes on."
            lease.refuse_cancel(self.operation, Trouble("cancel-too-late", sentence, ""))
            log.info("cancel came too late")

    def close(self) -> Result:
        """Write the end and what the kind does at the end, in one transaction."""
        assert self.code is not None
        undoing = self.undoing
        state = OperationState.CANCELLED if undoing else OperationState.SUCCEEDED
        hook = self.code.on_cancelled if undoing else self.code.on_succeeded
        woken: list[str] = []
        try:
            with transaction.atomic():
                closed = lease.close(self.operation, state)
                if closed and hook is not None:
                    hook(self.operation)
                # Last: whoever holds the cluster's turns must not wait for a row.
                if closed and self.operation.cluster_id:
                    if not undoing and coordination.ends_the_others(self.operation.kind):
                        turns.end_the_others(self.operation)
                    woken = turns.settle(self.operation.cluster_id)
        except Blocked as error:
            return self.block(error)
        except (LeaseLost, OperationalError, InterfaceError):
            raise
        except Exception as error:  # the kind's own code: any fault is shown and tried again, like a step's
            log.warning("closing failed", exc_info=error)
            self.event_owed = True
            wait = self.back_off(self.operation.attempt)
            return self.hand_back(wait, Trouble("step-failed", f"Finishing: {error or type(error).__name__}", ""))
        if not closed:
            # A cancel came in after the last step was recorded.
            self.cancel_seen = True
            return self.work()
        log.info("finished", state=state)
        traces.operation_ended(self.operation, state)
        return Result(Ending.CANCELLED if undoing else Ending.SUCCEEDED, woken=tuple(woken))

    # Small things

    def known(self, steps: Sequence[OperationStep]) -> list[OperationStep]:
        """The steps, if this release knows them all; those it does not know it does not start."""
        assert self.code is not None
        return list(steps) if all(s.name in self.code.steps for s in steps) else []

    def progress(self) -> float:
        """0 to 1; every step weighs the same. The last bit is kept for the end."""
        if not self.steps or self.undoing:
            return 0.0
        done = sum(1.0 if s.state == StepState.DONE else s.progress for s in self.steps)
        return min(0.99, done / len(self.steps))

    def trouble_left(self) -> Trouble | None:
        """The trouble of another step of the group, which a success must not hide."""
        for step in self.next_group():
            if step.attempt > 0:
                return Trouble(self.operation.reason_code or "step-failed", step.message, self.operation.reason_hint)
        return None

    def event(self) -> bool:
        """Whether to tell the listeners now: at most ten times a second per claim, as steps can be very quick."""
        now = time.monotonic()
        if now - self.last_event < self.limits.between_events:
            self.event_owed = True
            return False
        self.last_event, self.event_owed = now, False
        return True

    def note(self, recorded: lease.Recorded) -> None:
        if recorded.cancel_requested and not self.undoing:
            self.cancel_seen = True
        self.pause_seen = recorded.pause_requested
        for step in self.steps:
            if step.id in recorded.overdue and not step.overdue:
                step.overdue = True
                log.error("step overdue", step=step.name, target=step.target, deadline_seconds=step.deadline_seconds)


def _nothing_to_undo(context: StepContext) -> Outcome:
    return Done()


def _call_here(function: StepFunction, context: StepContext) -> Future[Outcome]:
    """Call a step in this thread; the answer has the shape of a thread's, so that both are taken in alike."""
    future: Future[Outcome] = Future()
    try:
        future.set_result(function(context))
    except Exception as error:  # a step may raise anything: shown, backed off, tried again
        future.set_exception(error)
    return future


def _call_in_thread(function: StepFunction, context: StepContext) -> Outcome:
    try:
        return function(context)
    finally:
        connections.close_all()
