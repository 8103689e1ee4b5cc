import { describe, expect, it } from "vitest";
import { isTouched } from "./events";

const change = { ids: new Set(["op_1", "cl_1"]) };

describe("isTouched", () => {
  it.each([
    ["every list of clusters", [{ _id: "listClusters", query: { state: "active" } }], true],
    ["the operation that moved", [{ _id: "getOperation", path: { operation_id: "op_1" } }], true],
    ["another operation", [{ _id: "getOperation", path: { operation_id: "op_2" } }], false],
    ["the nodes of its cluster", [{ _id: "listClusterNodes", path: { cluster_id: "cl_1" } }], true],
    ["what was found about its cluster", [{ _id: "listClusterFindings", path: { cluster_id: "cl_1" } }], true],
    ["the roles of its cluster", [{ _id: "listRoles", path: { cluster_id: "cl_1" } }], true],
    ["another cluster", [{ _id: "getCluster", path: { cluster_id: "cl_2" } }], false],
    ["the members", [{ _id: "listMembers" }], false],
    ["a key that is not of the API", ["something"], false],
  ] as const)("says whether %s changed", (_, key, touched) => {
    expect(isTouched(key, change)).toBe(touched);
  });
});
