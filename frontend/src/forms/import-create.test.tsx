// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Cluster, TableImport } from "../api";
import { ImportCreateModal } from "./import-create";

const api = vi.hoisted(() => ({ plan: vi.fn(), create: vi.fn(), found: vi.fn() }));

vi.mock("../api", async () => {
  const { useQuery } = await import("@tanstack/react-query");
  return {
    backupLocationsQuery: () => ({ queryKey: ["locations"], queryFn: async () => ({ items: [] }) }),
    importQuery: (id: string) => ({ queryKey: ["import", id], queryFn: () => api.found(id) }),
    planImportMutation: () => ({ mutationFn: api.plan }),
    createImportMutation: () => ({ mutationFn: api.create }),
    refresh: async () => undefined,
    toApiError: () => ({ message: "It failed.", fields: {} }),
    useLiveQuery: (query: Parameters<typeof useQuery>[0]) => useQuery(query),
  };
});

const FOUND = {
  state: "checked",
  tables: [{ keyspace: "shop", table: "orders", sstables: 2, bytes: 2048, exists: false }],
  problems: [],
  warnings: [],
  bytes: 6144,
  same_shape: false,
} as unknown as TableImport;

beforeEach(() => {
  api.plan.mockResolvedValue({ imported: { id: "imp_1" } });
  api.create.mockResolvedValue({});
  api.found.mockResolvedValue(FOUND);
});

afterEach(() => {
  cleanup();
  vi.clearAllMocks();
});

function show() {
  const onDismiss = vi.fn();
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <ImportCreateModal cluster={{ id: "clu_1", name: "shop" } as Cluster} onDismiss={onDismiss} />
    </QueryClientProvider>,
  );
  return onDismiss;
}

it("looks first, says what it found, and only then imports", async () => {
  const onDismiss = show();
  expect(screen.queryByRole("button", { name: "Import" })).toBeNull();
  fireEvent.change(screen.getByRole("textbox", { name: "Path" }), { target: { value: "old" } });
  fireEvent.click(screen.getByRole("button", { name: "Look at it" }));
  const confirm = await screen.findByRole("button", { name: "Import" });
  expect(screen.getByText(/shop\.orders: 2 SSTables, 2.* KiB, a new table/)).toBeTruthy();
  expect(screen.getByText(/Every node fetches all files/)).toBeTruthy();
  expect(api.create).not.toHaveBeenCalled();
  fireEvent.click(confirm);
  await waitFor(() => expect(onDismiss).toHaveBeenCalled());
  expect(api.create.mock.calls[0]?.[0]).toMatchObject({
    path: { cluster_id: "clu_1" },
    body: { path: "old", layout: "files", backup_name: null },
  });
});

it("does not import what something is against, and looks anew when the order changes", async () => {
  api.found.mockResolvedValue({ ...FOUND, problems: ["shop.orders: its columns are not known."] });
  show();
  fireEvent.click(screen.getByRole("button", { name: "Look at it" }));
  expect(await screen.findAllByText("shop.orders: its columns are not known.")).not.toHaveLength(0);
  fireEvent.click(screen.getByRole("button", { name: "Import" }));
  expect(api.create).not.toHaveBeenCalled();
  fireEvent.change(screen.getByRole("textbox", { name: "Path" }), { target: { value: "elsewhere" } });
  expect(screen.getByRole("button", { name: "Look at it" })).toBeTruthy();
});

it("asks for the name of a backup of Medusa", async () => {
  show();
  expect(screen.queryByRole("textbox", { name: "Name of the backup" })).toBeNull();
  fireEvent.click(screen.getByRole("radio", { name: "A backup of cassandra-medusa" }));
  fireEvent.click(screen.getByRole("button", { name: "Look at it" }));
  expect(api.plan).not.toHaveBeenCalled();
  fireEvent.change(screen.getByRole("textbox", { name: "Name of the backup" }), { target: { value: "nightly" } });
  fireEvent.click(screen.getByRole("button", { name: "Look at it" }));
  await waitFor(() => expect(api.plan).toHaveBeenCalled());
});
