import type { OperationStep, StepState } from "../api";

/** Steps of one title in one group: what the customer sees as one line, with its nodes below it. */
export interface Stage {
  key: string;
  title: string;
  state: StepState;
  /** Something is tried again or takes longer than it should. */
  isInTrouble: boolean;
  done: number;
  steps: OperationStep[];
  startedAt: string | null;
  finishedAt: string | null;
}

/** Groups a plan's steps into stages, in the order of the plan. */
export function toStages(steps: readonly OperationStep[]): Stage[] {
  const stages = new Map<string, OperationStep[]>();
  for (const step of [...steps].sort((a, b) => a.position - b.position)) {
    const key = `${step.group}:${step.title}`;
    const stage = stages.get(key);
    if (stage) stage.push(step);
    else stages.set(key, [step]);
  }
  return Array.from(stages, ([key, members]) => ({
    key,
    title: members[0]?.title ?? "",
    state: stageState(members.map((step) => step.state)),
    isInTrouble: members.some(isInTrouble),
    done: members.filter((step) => step.state === "done").length,
    steps: members,
    startedAt: least(members.map((step) => step.started_at)),
    finishedAt: members.every((step) => step.finished_at) ? greatest(members.map((step) => step.finished_at)) : null,
  }));
}

export function isInTrouble(step: OperationStep): boolean {
  const isOpen = step.state === "running" || step.state === "undoing" || step.state === "pending";
  return isOpen && (step.overdue || step.attempt > 0);
}

/** A stage is what its most telling step is: anything moving moves it; all alike give it their state. */
function stageState(states: StepState[]): StepState {
  for (const state of ["undoing", "running"] as const) if (states.includes(state)) return state;
  const first = states[0] ?? "pending";
  if (states.every((state) => state === first)) return first;
  // Some done, some not begun: between two nodes of the same stage.
  if (states.includes("pending") && states.includes("done")) return "running";
  for (const state of ["undone", "done", "skipped"] as const) if (states.includes(state)) return state;
  return first;
}

function least(moments: (string | null)[]): string | null {
  return moments.reduce((a, b) => (a === null || (b !== null && Date.parse(b) < Date.parse(a)) ? b : a), null);
}

function greatest(moments: (string | null)[]): string | null {
  return moments.reduce((a, b) => (a === null || (b !== null && Date.parse(b) > Date.parse(a)) ? b : a), null);
}
