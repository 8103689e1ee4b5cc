import { describe, expect, it } from "vitest";
import type { OperationStep } from "../api";
import { toStages } from "./progress";

let position = 0;

function step(changes: Partial<OperationStep>): OperationStep {
  position += 1;
  return {
    position,
    group: 0,
    name: "start_engine",
    title: "Start the engine",
    target: "",
    target_title: "",
    state: "pending",
    attempt: 0,
    overdue: false,
    progress: 0,
    message: "",
    started_at: null,
    finished_at: null,
    duration_seconds: null,
    ...changes,
  };
}

describe("toStages", () => {
  it("puts the nodes of one step together and keeps the order of the plan", () => {
    const steps = [
      step({ group: 0, title: "Find the image" }),
      step({ group: 0, title: "Prepare the network" }),
      step({ group: 1, title: "Start the machine", target: "a" }),
      step({ group: 1, title: "Start the machine", target: "b" }),
    ];
    const stages = toStages([...steps].reverse());
    expect(stages.map((stage) => [stage.title, stage.steps.map((each) => each.target)])).toEqual([
      ["Find the image", [""]],
      ["Prepare the network", [""]],
      ["Start the machine", ["a", "b"]],
    ]);
  });

  it("keeps steps of the same title in different groups apart", () => {
    expect(toStages([step({ group: 1 }), step({ group: 2 })])).toHaveLength(2);
  });

  it.each([
    [["done", "running", "pending"], "running"],
    [["done", "pending"], "running"],
    [["done", "done"], "done"],
    [["pending", "pending"], "pending"],
    [["undone", "undoing"], "undoing"],
    [["undone", "pending"], "undone"],
    [["done", "skipped"], "done"],
  ] as const)("calls steps that are %s %s", (states, state) => {
    expect(toStages(states.map((each) => step({ state: each })))[0]?.state).toBe(state);
  });

  it("lasts from the first start to the last end, and has no end while one is open", () => {
    const first = step({ state: "done", started_at: "2026-03-02T12:00:01Z", finished_at: "2026-03-02T12:00:04Z" });
    const second = step({ state: "done", started_at: "2026-03-02T12:00:00.500Z", finished_at: "2026-03-02T12:00:03Z" });
    expect(toStages([first, second])[0]).toMatchObject({
      startedAt: "2026-03-02T12:00:00.500Z",
      finishedAt: "2026-03-02T12:00:04Z",
      done: 2,
    });
    expect(toStages([first, { ...second, state: "running", finished_at: null }])[0]?.finishedAt).toBeNull();
  });

  it("says when a step is tried again or late, and forgets it once it is done", () => {
    expect(toStages([step({ state: "running", attempt: 1 })])[0]?.isInTrouble).toBe(true);
    expect(toStages([step({ state: "running", overdue: true })])[0]?.isInTrouble).toBe(true);
    expect(toStages([step({ state: "done", attempt: 3, overdue: true })])[0]?.isInTrouble).toBe(false);
  });
});
