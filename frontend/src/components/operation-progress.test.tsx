// @vitest-environment jsdom
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { OperationDetail, OperationStep } from "../api";
import { OperationSteps, OperationSummary } from "./operation-progress";

function step(changes: Partial<OperationStep>): OperationStep {
  return {
    position: 1,
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

function operation(changes: Partial<OperationDetail>): OperationDetail {
  return {
    id: "op_1",
    kind: "create_cluster",
    title: "Create cluster",
    cluster_id: "cl_1",
    cluster_name: "orders",
    state: "running",
    progress: 0.4,
    actor: "owner@example.com",
    reason: null,
    expected_seconds: 20,
    elapsed_seconds: 8,
    eta_seconds: 11.5,
    created_at: new Date().toISOString(),
    started_at: new Date().toISOString(),
    finished_at: null,
    current: "Start the engine on orders-a-1",
    steps_done: 1,
    steps_total: 3,
    cancel_requested: false,
    pause_requested: false,
    waits_for: null,
    allowed_actions: [],
    steps: [],
    ...changes,
  };
}

it("says what is being done now, on which node, and how long it will take", () => {
  render(<OperationSummary operation={operation({})} />);
  expect(screen.getByText("Start the engine on orders-a-1")).toBeTruthy();
  expect(screen.getByText(/about 12 s left · step 2 of 3/)).toBeTruthy();
});

it("says why it does not move on and what to do", () => {
  const reason = { code: "out-of-memory", message: "The machine has no memory left.", hint: "Delete a cluster." };
  render(<OperationSummary operation={operation({ state: "blocked", reason })} />);
  expect(screen.getByText("The machine has no memory left.")).toBeTruthy();
  expect(screen.getByText("Delete a cluster.")).toBeTruthy();
});

it("shows the nodes of a running step, and what is tried again", () => {
  const steps = [
    step({ position: 1, target: "a", target_title: "orders-a-1", state: "done" }),
    step({ position: 2, target: "b", target_title: "orders-b-1", state: "running", attempt: 2, message: "No answer." }),
  ];
  render(<OperationSteps operation={operation({ steps })} />);
  expect(screen.getByText(/1 of 2 nodes/)).toBeTruthy();
  expect(screen.getByText("orders-b-1")).toBeTruthy();
  expect(screen.getByText("No answer. (try 3)")).toBeTruthy();
});
