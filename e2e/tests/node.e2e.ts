/** A node's own page: facts, first boot, tuning report. */

import type { Page } from "@playwright/test";
import type {
  DiskMeasurement,
  FirstBoot,
  FirstBootStep,
  NodeTuning,
  TuningCheck,
} from "../../frontend/src/api/__generated__/types.gen";
import { type Cluster, deleteCluster, ended, type Node, nodesOf, orderCluster } from "../support/api";
import { expect, expectAccessible, picture, test } from "../support/test";

let cluster: Cluster;
let node: Node;

test.describe.configure({ mode: "serial" });

test.beforeAll(async () => {
  test.setTimeout(120_000);
  const ordered = await orderCluster("tuned", { zones: ["local-1a"] });
  cluster = ordered.cluster;
  expect(await ended(ordered.operation.id, 100)).toBe("succeeded");
  node = (await nodesOf(cluster.id))[0] as Node;
});

test.afterAll(async () => {
  test.setTimeout(120_000);
  await deleteCluster(cluster.id);
});

test("a node of a shared computer says what does not apply there, and why", async ({ ownerPage: page }) => {
  await page.goto(`/clusters/${cluster.id}`);
  await page.getByRole("link", { name: node.name }).click();
  await expect(page.getByRole("heading", { level: 1, name: node.name })).toBeVisible();
  await expect(page.getByText("this computer is not the node's alone")).toBeVisible();
  const report = page.getByRole("table", { name: "Tuning report" });
  const scheduler = report.getByRole("row", { name: /I\/O scheduler/ });
  await expect(scheduler).toContainText("Not applicable");
  await expect(report.getByRole("row", { name: /Disk array/ })).toContainText(
    "The data is in a folder of a file system that others use too.",
  );
  await expect(report.getByText("Fail", { exact: true })).toHaveCount(0);
  await expect(page.getByText("A shared computer, left as it is")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "tuned", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "tuned" })).toBeVisible();
});

// No machine here is a node's alone, so what its agent would tell is put into the API's answer.
test("a machine of its own shows its steps, what fails and what got worse", async ({ ownerPage: page }) => {
  await answered(page, { state: "succeeded", steps: STEPS });
  await page.goto(`/clusters/${cluster.id}/nodes/${node.id}`);
  const steps = page.getByRole("table", { name: "First boot" });
  await expect(steps.getByRole("row", { name: /Make or mount the array/ })).toContainText("1.8 s");
  const report = page.getByRole("table", { name: "Tuning report" });
  await expect(report.getByRole("row").nth(1)).toContainText("nvme0n1 mq-deadline");
  await expect(report.getByRole("row").nth(1)).toContainText("passed before");
  await expect(page.getByText("Not tuned as it was after its first boot")).toBeVisible();
  await expect(page.getByText("1-15,17-31 (30 shards)")).toBeVisible();
  const reads = page.getByRole("table", { name: "Measured disks" }).getByRole("row", { name: /Random reads/ });
  await expect(reads).toContainText("1,120,400 per s");
  await expect(reads).toContainText("12.3 %");
  await expect(reads).toContainText("1,443,200 per s");
  await expectAccessible(page);
  await page.setViewportSize({ width: 1360, height: 1900 });
  await picture(page, "node");
});

test("a first boot that failed says which code, and what to do", async ({ ownerPage: page }) => {
  const error = { code: "local-data-lost", message: "All disks are blank.", hint: "Cancel the operation." };
  const [facts, decision, array] = STEPS as [FirstBootStep, FirstBootStep, FirstBootStep];
  const failed: FirstBootStep = { ...decision, state: "failed", message: "", error };
  const pending: FirstBootStep = { ...array, state: "pending", duration_ms: 0, attempts: 0, message: "" };
  await answered(page, { state: "failed", steps: [facts, failed, pending] });
  await page.goto(`/clusters/${cluster.id}/nodes/${node.id}`);
  await expect(page.getByText("First boot failed: local-data-lost")).toBeVisible();
  await expect(page.getByText("Cancel the operation.")).toBeVisible();
  await expectAccessible(page);
  await picture(page, "node-boot-failed");
});

async function answered(page: Page, firstBoot: Pick<FirstBoot, "state" | "steps">): Promise<void> {
  const tuning: NodeTuning = {
    checked_at: new Date().toISOString(),
    report: {
      environment: "machine",
      provider: "aws",
      machine_type: "i3.8xlarge",
      engine: "scylla",
      pins: { cpus: 32, irq: "0,16", shards: "1-15,17-31", n_shards: 30 },
      io: { ...CEILING, source: "preset", written_at: "2026-01-01T00:00:00Z" },
      checks: CHECKS,
      first_boot: { ...firstBoot, started_at: "2026-01-01T00:00:00Z", duration_ms: 2085 },
      warnings: [],
    },
    disks: DISKS,
  };
  await page.route(`**/nodes/${node.id}/tuning`, (route) => route.fulfill({ json: tuning }));
}

const STEPS: FirstBootStep[] = [
  { name: "facts", title: "Look at the machine", duration_ms: 210, message: "aws i3.8xlarge, 32 CPUs" },
  { name: "disk-decision", title: "Decide about the disks", duration_ms: 35, message: "all disks are blank" },
  { name: "array", title: "Make or mount the array", duration_ms: 1840, message: "/dev/md0 of 4 disks" },
].map((step) => ({ ...step, state: "succeeded", attempts: 1, error: null }));

const CEILING = {
  read_iops: 1_443_200,
  read_bandwidth: 7_902_000_000,
  write_iops: 725_000,
  write_bandwidth: 3_200_000_000,
};

const DISKS: DiskMeasurement = {
  measured_at: "2026-01-01T00:00:00Z",
  verdict: "noisy",
  warnings: ["The random reads are 22 % below the preset."],
  figures: {
    read_iops: { median: 1_120_400, spread: 0.123, verdict: "noisy" },
    read_bandwidth: { median: 7_800_000_000, spread: 0.012, verdict: "stable" },
    write_iops: { median: 719_000, spread: 0.008, verdict: "stable" },
    write_bandwidth: { median: 3_190_000_000, spread: 0.02, verdict: "stable" },
  },
  cluster: { ...CEILING, nodes: 3 },
};

const CHECKS: TuningCheck[] = [
  {
    name: "read-ahead",
    title: "Read-ahead",
    status: "pass",
    found: "nvme0n1 4",
    wanted: "4",
    cost: "Small random reads fetch up to 128 KiB each and use up the disks' bandwidth.",
    reason: "",
    drifted: false,
  },
  {
    name: "scheduler",
    title: "I/O scheduler",
    status: "fail",
    found: "nvme0n1 mq-deadline",
    wanted: "none",
    cost: "The kernel sorts requests that NVMe sorts better; it costs CPU and latency.",
    reason: "",
    drifted: true,
  },
  {
    name: "governor",
    title: "CPU governor",
    status: "not-applicable",
    found: "",
    wanted: "performance",
    cost: "Cores that clock down answer the first requests of a burst late.",
    reason: "The hypervisor decides how fast the cores run.",
    drifted: false,
  },
];
