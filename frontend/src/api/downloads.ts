import { rangeQuery, type ShownTime } from "../util/metric-range";
import {
  downloadBackup,
  downloadCa,
  downloadConnectionBundle,
  exportAuditRecords,
  exportCosts,
  getClusterMetrics,
  getTableMetrics,
  listTableMetrics,
} from "./__generated__/sdk.gen";
import type { Download, DownloadOrder, ExportAuditRecordsData, ExportCostsData } from "./__generated__/types.gen";
import type { DashboardWish, TablesWish } from "./queries";

// Not plain links: a link cannot carry the header that says which organisation is meant.

export async function fetchBundle(clusterId: string): Promise<Blob> {
  const { data } = await downloadConnectionBundle({
    path: { cluster_id: clusterId },
    parseAs: "blob",
    throwOnError: true,
  });
  return data as unknown as Blob;
}

export async function fetchCa(clusterId: string): Promise<Blob> {
  const { data } = await downloadCa({ path: { cluster_id: clusterId }, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

/** The API's answers with all addresses of a backup, one after the other, as `open_backup fetch` takes them. */
export async function fetchBackupAddresses(
  backupId: string,
  order: Omit<DownloadOrder, "after">,
): Promise<{ file: Blob; objects: number }> {
  const answers: Download[] = [];
  let after: string | null = null;
  do {
    const { data }: { data: Download } = await downloadBackup({
      path: { backup_id: backupId },
      body: { ...order, after },
      throwOnError: true,
    });
    answers.push(data);
    after = data.next_after;
  } while (after !== null);
  const text = answers.map((answer) => `${JSON.stringify(answer, null, 1)}\n`);
  return {
    file: new Blob(text, { type: "application/json" }),
    objects: answers.reduce((sum, { items }) => sum + items.length, 0),
  };
}

export async function fetchClusterMetricsCsv(id: string, wish: DashboardWish, time: ShownTime): Promise<Blob> {
  const query = { ...wish, ...rangeQuery(time, Date.now()), format: "csv" as const };
  const { data } = await getClusterMetrics({ path: { cluster_id: id }, query, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

export async function fetchTableMetricsCsv(
  path: { cluster_id: string; keyspace: string; table: string },
  chart: string[],
  time: ShownTime,
): Promise<Blob> {
  const query = { chart, ...rangeQuery(time, Date.now()), format: "csv" as const };
  const { data } = await getTableMetrics({ path, query, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

export async function fetchTablesCsv(id: string, wish: TablesWish): Promise<Blob> {
  const query = { ...wish, format: "csv" as const };
  const { data } = await listTableMetrics({ path: { cluster_id: id }, query, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

/** Every audit record that matches and is in the chain, with its hash. */
export async function fetchAudit(query: NonNullable<ExportAuditRecordsData["query"]>): Promise<Blob> {
  const { data } = await exportAuditRecords({ query, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}

/** Every line of every day: as a table, as JSON, or in the columns of FOCUS. */
export async function fetchCosts(query: NonNullable<ExportCostsData["query"]>): Promise<Blob> {
  const { data } = await exportCosts({ query, parseAs: "blob", throwOnError: true });
  return data as unknown as Blob;
}
