import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";
import { askAgain, isTouched } from "./events";

const change = { ids: new Set(["op_1", "cl_1"]) };

describe("isTouched", () => {
  it.each([
    ["every list of clusters", [{ _id: "listClusters", query: { state: "active" } }], true],
    ["the operation that moved", [{ _id: "getOperation", path: { operation_id: "op_1" } }], true],
    ["another operation", [{ _id: "getOperation", path: { operation_id: "op_2" } }], false],
    ["the nodes of its cluster", [{ _id: "listClusterNodes", path: { cluster_id: "cl_1" } }], true],
    ["what was found about its cluster", [{ _id: "listClusterFindings", path: { cluster_id: "cl_1" } }], true],
    ["the roles of its cluster", [{ _id: "listRoles", path: { cluster_id: "cl_1" } }], true],
    ["the map of its repair", [{ _id: "getRepairMap", path: { cluster_id: "cl_1", run_id: "rep_1" } }], true],
    ["another cluster", [{ _id: "getCluster", path: { cluster_id: "cl_2" } }], false],
    ["the members", [{ _id: "listMembers" }], false],
    ["a key that is not of the API", ["something"], false],
  ] as const)("says whether %s changed", (_, key, touched) => {
    expect(isTouched(key, change)).toBe(touched);
  });
});

describe("askAgain", () => {
  const answers = () => {
    const waiting: ((answer: string) => void)[] = [];
    const ask = () => new Promise<string>((resolve) => waiting.push(resolve));
    return { waiting, options: { queryKey: ["operation"], queryFn: ask, staleTime: 60_000 } };
  };

  it("does not take a first answer for fresh that was on its way when the change came", async () => {
    const client = new QueryClient();
    const { waiting, options } = answers();
    void client.prefetchQuery(options);
    const asked = askAgain(client, () => true);
    waiting[0]?.("running");
    await asked;
    const page = new QueryObserver(client, options);
    const leave = page.subscribe(() => undefined);
    expect(waiting).toHaveLength(2);
    waiting[1]?.("succeeded");
    await expect.poll(() => page.getCurrentResult().data).toBe("succeeded");
    leave();
  });

  it("asks again at once for what is on the screen", async () => {
    const client = new QueryClient();
    const { waiting, options } = answers();
    const page = new QueryObserver(client, options);
    const leave = page.subscribe(() => undefined);
    const asked = askAgain(client, () => true);
    waiting[0]?.("running");
    await expect.poll(() => waiting.length).toBe(2);
    waiting[1]?.("succeeded");
    await asked;
    expect(page.getCurrentResult().data).toBe("succeeded");
    leave();
  });
});
