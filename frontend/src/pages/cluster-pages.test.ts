import { expect, test } from "vitest";
import { CLUSTER_PAGES, clusterPage, clusterPageAt, clusterPageHref } from "./cluster-pages";

test("every page has an address of its own, which leads back to it", () => {
  const hrefs = CLUSTER_PAGES.map(({ id }) => clusterPageHref("c_1", id));
  expect(new Set(hrefs).size).toBe(CLUSTER_PAGES.length);
  for (const { id } of CLUSTER_PAGES) {
    const address = new URL(clusterPageHref("c_1", id), "https://console.example");
    const tab = (address.searchParams.get("tab") ?? undefined) as typeof id | undefined;
    expect(clusterPageAt(address.pathname, tab)).toBe(id);
    expect(clusterPage(tab).id).toBe(id);
  }
});

test("what lies below a cluster belongs to the page that its address names, and nodes to the overview", () => {
  expect(clusterPageAt("/clusters/c_1/nodes/n_1", undefined)).toBe("overview");
  expect(clusterPageAt("/clusters/c_1/backups/b_1", undefined)).toBe("backups");
});
