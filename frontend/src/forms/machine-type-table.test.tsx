// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { machineType } from "../util/machine-types.testing";
import { MachineTypeTable } from "./machine-type-table";

afterEach(cleanup);

const TYPES = Array.from({ length: 25 }, (_, index) =>
  machineType(`${index < 20 ? "i4i" : "i8g"}.${index + 1}`, {
    vcpus: 99 - index,
    ...(index === 0 && { io: null }),
  }),
);

function show(value = "", types = TYPES) {
  const onChange = vi.fn();
  render(<MachineTypeTable types={types} value={value} onChange={onChange} />);
  return onChange;
}

function names(): (string | null)[] {
  return within(screen.getByRole("table"))
    .getAllByRole("rowheader")
    .map((cell) => cell.textContent);
}

it("shows the figures of a type with their source", () => {
  show("", TYPES.slice(0, 3));
  const row = screen.getByRole("row", { name: /i4i\.2\b/ });
  for (const text of ["98", "64 GiB", "1 × 1,875 GB", "7", "218.8K, 121.5K", "Preset of the type", "0.686 USD"])
    expect(within(row).getByText(text)).toBeTruthy();
  expect(screen.getByText("Measured at first boot")).toBeTruthy();
  expect(screen.getByText(/Prices are on demand in us-east-1 on 2026-07-06/)).toBeTruthy();
});

it("chooses one type, by its name", () => {
  const onChange = show("i4i.1");
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "i4i.1" }).checked).toBe(true);
  fireEvent.click(screen.getByRole("radio", { name: "i4i.3" }));
  expect(onChange).toHaveBeenCalledWith("i4i.3");
});

it("says which type is chosen and what is wrong with it", () => {
  render(<MachineTypeTable types={TYPES} value="i4i.2" errorText="Not in this region." onChange={() => {}} />);
  expect(screen.getByRole("heading", { name: "Machine type: i4i.2" })).toBeTruthy();
  expect(screen.getByText("Not in this region.")).toBeTruthy();
});

it("shows twenty on a page", () => {
  show();
  expect(names()).toHaveLength(20);
  fireEvent.click(screen.getByRole("button", { name: "Next page" }));
  expect(names()).toHaveLength(5);
});

it("filters, says so when nothing matches, and clears the filter", () => {
  show();
  const filter = screen.getByRole("searchbox", { name: "Find machine types" });
  fireEvent.change(filter, { target: { value: "i8g" } });
  expect(names()).toHaveLength(5);
  fireEvent.change(filter, { target: { value: "metal" } });
  fireEvent.click(screen.getByRole("button", { name: "Clear filters" }));
  expect(names()).toHaveLength(20);
});

it("sorts by a column with its header", () => {
  show();
  fireEvent.click(screen.getByRole("button", { name: /vCPU/ }));
  expect(names()[0]).toContain("i8g.25");
});

it("explains what shards are, in a header that is no button within a button", () => {
  show();
  const help = screen.getByRole("button", { name: "Shards" });
  expect(help.parentElement?.closest("[role=button], button")).toBeNull();
  fireEvent.click(help);
  expect(screen.getByText(/CPUs left for the engine/)).toBeTruthy();
});

it("says how many nodes of a type there is room for, and how sure that is", () => {
  const capacity = {
    answered_at: "2026-11-21T12:00:00Z",
    warning: "It could not be asked since: Throttled.",
    quotas: [{ name: "vCPUs", limit: 64, used: 40, promised: 4 }],
    machine_types: [
      { name: "i4i.1", nodes_that_fit: 3, zones_without: ["eu-west-1c"] },
      { name: "i4i.2", nodes_that_fit: 0, zones_without: [] },
    ],
  };
  render(<MachineTypeTable types={TYPES.slice(0, 3)} value="" capacity={capacity} onChange={vi.fn()} />);
  const row = (name: RegExp) => within(screen.getByRole("row", { name }));
  expect(row(/i4i\.1\b/).getByText("3 nodes")).toBeTruthy();
  expect(row(/i4i\.1\b/).getByText("Not in eu-west-1c")).toBeTruthy();
  expect(row(/i4i\.2\b/).getByText("None")).toBeTruthy();
  expect(screen.getByText("It could not be asked since: Throttled.")).toBeTruthy();
  expect(screen.getByText(/vCPUs: 40 of 64 used, 4 promised to nodes being made\./)).toBeTruthy();
});
