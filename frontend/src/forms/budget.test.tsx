// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Budget } from "../api";
import { BudgetEditModal } from "./budget";

const api = vi.hoisted(() => ({ read: vi.fn(), write: vi.fn() }));

vi.mock("../api", async () => ({
  ...(await import("../api/editing")),
  ...(await import("../api/errors")),
  clustersQuery: () => ({ queryKey: ["clusters"], queryFn: async () => ({ items: [] }) }),
  createBudgetMutation: () => ({ mutationFn: async () => undefined }),
  editableBudget: () => api,
  refresh: async () => undefined,
}));

const SHOP = {
  id: "bud_1",
  name: "shop",
  scope: "organisation",
  cluster: null,
  tag: null,
  micros: 500_000_000,
  spent_percents: [50],
  forecast_percents: [100],
} as unknown as Budget;

const serve = (budget: Budget) =>
  api.read.mockResolvedValue({ data: budget, response: new Response(null, { headers: { ETag: '"1"' } }) });

beforeEach(() => {
  api.write.mockImplementation(async (body: Partial<Budget>) => ({ ...SHOP, ...body }));
});

afterEach(() => {
  cleanup();
  vi.clearAllMocks();
});

function show() {
  const onDismiss = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient()}>
      <BudgetEditModal budget={SHOP} onDismiss={onDismiss} />
    </QueryClientProvider>,
  );
  return onDismiss;
}

const field = (name: string) => screen.getByRole<HTMLInputElement>("textbox", { name });
const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));

async function conflict() {
  serve({ ...SHOP, micros: 700_000_000 });
  const onDismiss = show();
  fireEvent.change(field("Name"), { target: { value: "shops" } });
  press("Save");
  await screen.findByText("Somebody changed this while you were editing");
  return onDismiss;
}

it("says what somebody else saved, and keeps what was typed", async () => {
  const onDismiss = await conflict();
  expect(screen.getByText(/was 500\.00 USD, is now 700\.00 USD/)).toBeTruthy();
  expect(field("Name").value).toBe("shops");
  press("Save");
  await waitFor(() => expect(api.read).toHaveBeenCalledTimes(2));
  expect(api.write).not.toHaveBeenCalled();
  expect(onDismiss).not.toHaveBeenCalled();
});

it("loads what it is now, from which one goes on", async () => {
  const onDismiss = await conflict();
  press("Load what it is now");
  expect([field("Name").value, field("Dollars a month").value]).toEqual(["shop", "700"]);
  expect(screen.queryByText("Somebody changed this while you were editing")).toBeNull();
  fireEvent.change(field("Name"), { target: { value: "shops" } });
  press("Save");
  await waitFor(() => expect(onDismiss).toHaveBeenCalled());
  expect(api.write.mock.calls[0]?.[0]).toMatchObject({ name: "shops", micros: 700_000_000 });
});

it("saves over it when that is wanted", async () => {
  const onDismiss = await conflict();
  press("Save over it");
  await waitFor(() => expect(onDismiss).toHaveBeenCalled());
  expect(api.write.mock.calls[0]).toEqual([
    { name: "shops", micros: 500_000_000, spent_percents: [50], forecast_percents: [100] },
    { "If-Match": '"1"' },
  ]);
});
