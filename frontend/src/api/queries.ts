import { keepPreviousData } from "@tanstack/react-query";
import { rangeQuery, type ShownTime } from "../util/metric-range";
import * as generated from "./__generated__/@tanstack/react-query.gen";
import {
  estimateCost,
  estimateDynamodb,
  getClusterMetrics,
  getCosts,
  getTableMetrics,
  listTableMetrics,
  planAdvice,
  planChange,
  planClone,
  planDrill,
  planRepair,
  planRestore,
  planSize,
  planTableChangeUndo,
} from "./__generated__/sdk.gen";
import type {
  AskNodeData,
  ChangeClusterData,
  CloneOrder,
  Cluster,
  CreateBackupLocationData,
  CreateNetworkConnectionData,
  DrillOrder,
  DynamoDbOrder,
  EstimateOrder,
  GetClusterMetricsData,
  GetCostsData,
  ListAuditRecordsData,
  ListClusterAlertsData,
  ListClustersData,
  ListOperationsData,
  ListTableMetricsData,
  RepairOrder,
  RestoreOrder,
  SizingOrder,
} from "./__generated__/types.gen";
import { queryClient } from "./query-client";

export const PAGE_SIZE = 25;

/** One change of a cluster: what may be planned and carried out. */
export type ClusterChange = ChangeClusterData["body"];

/** A question to a node. */
export type QuestionOrder = AskNodeData["body"];

/** A peering or an endpoint as it is ordered. */
export type NetworkConnectionOrder = CreateNetworkConnectionData["body"];

/** A bucket as it is brought. */
export type LocationOrder = CreateBackupLocationData["body"];

// One function per thing a page shows; pages know these and the mutations, and nothing of keys.

export const catalogQuery = () => ({ ...generated.getCatalogOptions(), staleTime: 10_000 });

/** What an account has room for in a region; null: the installation's own. Asked of clouds only: others have budgets. */
export const capacityQuery = (provider: string, region: string, account: string | null) =>
  generated.getCapacityOptions({ query: { provider, region, ...(account ? { cloud_account: account } : {}) } });

export const clustersQuery = (query: ListClustersData["query"]) => ({
  ...generated.listClustersOptions({ query: { limit: PAGE_SIZE, ...query } }),
  placeholderData: keepPreviousData,
});

export const clusterQuery = (id: string) => generated.getClusterOptions({ path: { cluster_id: id } });

export const clusterNodesQuery = (id: string) =>
  generated.listClusterNodesOptions({ path: { cluster_id: id }, query: { limit: 200 } });

export const nodeQuery = (clusterId: string, nodeId: string) =>
  generated.getClusterNodeOptions({ path: { cluster_id: clusterId, node_id: nodeId } });

export const nodeTuningQuery = (clusterId: string, nodeId: string) =>
  generated.getNodeTuningOptions({ path: { cluster_id: clusterId, node_id: nodeId } });

export const networkQuery = (id: string) => generated.getClusterNetworkOptions({ path: { cluster_id: id } });

export const networkConnectionsQuery = (id: string) =>
  generated.listNetworkConnectionsOptions({ path: { cluster_id: id }, query: { limit: 200 } });

export const repairsQuery = (id: string) => generated.getRepairsOptions({ path: { cluster_id: id } });

export const repairTablesQuery = (id: string, cursor?: string) => ({
  ...generated.listRepairTablesOptions({ path: { cluster_id: id }, query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const repairRunsQuery = (id: string) =>
  generated.listRepairRunsOptions({ path: { cluster_id: id }, query: { limit: 10 } });

export const planRepairQuery = (id: string, body: RepairOrder) => ({
  queryKey: ["repair plan", id, body] as const,
  queryFn: async () => (await planRepair({ path: { cluster_id: id }, body, throwOnError: true })).data,
});

export const repairMapQuery = (id: string, runId: string) =>
  generated.getRepairMapOptions({ path: { cluster_id: id, run_id: runId } });

/** Of one keyspace, as many as are told at once. */
export const keyspaceRepairsQuery = (id: string, keyspace: string) =>
  generated.listRepairTablesOptions({ path: { cluster_id: id }, query: { keyspace, limit: 200 } });

export const metricsCatalogueQuery = () => ({ ...generated.getMetricsCatalogueOptions(), staleTime: 600_000 });

/** So often numbers are asked for again: as often as nodes are. */
const METRICS_MS = 15_000;

// Ranges end now, so a key names the range and each request says what that is at its moment.
const ofNow = { refetchInterval: METRICS_MS, staleTime: METRICS_MS, placeholderData: keepPreviousData, retry: 1 };

export type DashboardWish = Omit<NonNullable<GetClusterMetricsData["query"]>, "from" | "to" | "step" | "format">;

export const clusterMetricsQuery = (id: string, wish: DashboardWish, time: ShownTime) => ({
  queryKey: ["cluster metrics", id, wish, time] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const query = { ...wish, ...rangeQuery(time, Date.now()) };
    return (await getClusterMetrics({ path: { cluster_id: id }, query, signal, throwOnError: true })).data;
  },
  ...ofNow,
  refetchInterval: time.zoom === null ? METRICS_MS : (false as const),
});

export const tableMetricsQuery = (id: string, keyspace: string, table: string, time: ShownTime) => ({
  queryKey: ["table metrics", id, keyspace, table, time] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const path = { cluster_id: id, keyspace, table };
    return (await getTableMetrics({ path, query: rangeQuery(time, Date.now()), signal, throwOnError: true })).data;
  },
  ...ofNow,
  refetchInterval: time.zoom === null ? METRICS_MS : (false as const),
});

export type TablesWish = Omit<NonNullable<ListTableMetricsData["query"]>, "from" | "to" | "format">;

export const tablesMetricsQuery = (id: string, wish: TablesWish) => ({
  queryKey: ["tables metrics", id, wish] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await listTableMetrics({ path: { cluster_id: id }, query: wish, signal, throwOnError: true })).data,
  ...ofNow,
});

export const connectionQuery = (id: string) => generated.getConnectionOptions({ path: { cluster_id: id } });

export const operationsQuery = (query: ListOperationsData["query"]) => ({
  ...generated.listOperationsOptions({ query: { limit: PAGE_SIZE, ...query } }),
  placeholderData: keepPreviousData,
});

export const operationQuery = (id: string) => generated.getOperationOptions({ path: { operation_id: id } });

export const membersQuery = (active?: boolean, cursor?: string) => ({
  ...generated.listMembersOptions({ query: { limit: PAGE_SIZE, active, cursor } }),
  placeholderData: keepPreviousData,
});

/** Where somebody is signed in to the console: oneself, or a member. */
export const sessionsQuery = (cursor?: string) => ({
  ...generated.listSessionsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const memberSessionsQuery = (memberId: string) =>
  generated.listMemberSessionsOptions({ path: { member_id: memberId }, query: { limit: PAGE_SIZE } });

export const organisationRolesQuery = () => generated.listOrganisationRolesOptions({ query: { limit: 200 } });

/** Who people can sign in through. */
export const identityProvidersQuery = () => ({ ...generated.listIdentityProvidersOptions(), staleTime: 60_000 });

export const groupRolesQuery = () => generated.listGroupRolesOptions({ query: { limit: 200 } });

export const serviceAccountsQuery = (cursor?: string) => ({
  ...generated.listServiceAccountsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const accessSettingsQuery = () => generated.getAccessSettingsOptions();

export const deletionRequestsQuery = (cursor?: string) => ({
  ...generated.listDeletionRequestsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

/** Of a cluster, a backup or the organisation: the one that waits or is confirmed, if there is one. */
export const openDeletionRequestQuery = (targetId: string) =>
  generated.listDeletionRequestsOptions({ query: { target_id: targetId, open: true, limit: 1 } });

export const roleChoicesQuery = () => ({ ...generated.getRoleChoicesOptions(), staleTime: Number.POSITIVE_INFINITY });

export const invitationsQuery = () => generated.listInvitationsOptions({ query: { limit: 200 } });

export const invitationOfferQuery = (secret: string) => ({
  ...generated.getInvitationOfferOptions({ path: { secret } }),
  retry: false,
});

export const tokensQuery = (cursor?: string) => ({
  ...generated.listTokensOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const cloudAccountsQuery = (cursor?: string) => ({
  ...generated.listCloudAccountsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

/** To choose from, so all of them: nobody has more than a page of that size. */
export const allCloudAccountsQuery = () => generated.listCloudAccountsOptions({ query: { limit: 200 } });

export const cloudAccountQuery = (id: string) => generated.getCloudAccountOptions({ path: { account_id: id } });

export const imagesQuery = (cursor?: string) => ({
  ...generated.listImagesOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

/** Images for a cluster's engine as it is, in its cloud. */
export const buildsQuery = ({ provider, engine, engine_version }: Cluster) =>
  generated.listImagesOptions({ query: { provider, engine, engine_version, limit: 100 } });

export const auditQuery = (query: ListAuditRecordsData["query"]) => ({
  ...generated.listAuditRecordsOptions({ query: { limit: PAGE_SIZE, ...query } }),
  placeholderData: keepPreviousData,
});

/** Where the chain of audit records ends. */
export const auditChainQuery = () => ({ ...generated.getAuditChainOptions(), refetchInterval: 15_000 });

/** What a change would do; null: there is no change yet, and nobody asks. */
export const planQuery = (clusterId: string, change: ClusterChange | null) => ({
  queryKey: ["plan", clusterId, change],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    if (change === null) throw new Error("a plan needs a change");
    const { data } = await planChange({ path: { cluster_id: clusterId }, body: change, signal, throwOnError: true });
    return data;
  },
  // A plan is about this moment.
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

export const backupLocationsQuery = () => generated.listBackupLocationsOptions({ query: { limit: 200 } });

export const backupsQuery = () => generated.listBackupsOptions({ query: { limit: 100 } });

export const backupQuery = (id: string) => generated.getBackupOptions({ path: { backup_id: id } });

export const clusterBackupsOverviewQuery = (id: string) =>
  generated.getClusterBackupsOptions({ path: { cluster_id: id } });

export const clusterBackupsQuery = (id: string) =>
  generated.listClusterBackupsOptions({ path: { cluster_id: id }, query: { limit: 100 } });

export const backupSchedulesQuery = (id: string) => generated.listBackupSchedulesOptions({ path: { cluster_id: id } });

export const backupEstimateQuery = (id: string, location: string | null) =>
  generated.estimateBackupOptions({ path: { cluster_id: id }, query: location ? { location_id: location } : {} });

export const importsQuery = (id: string) => generated.listImportsOptions({ path: { cluster_id: id } });

export const importQuery = (id: string) => generated.getImportOptions({ path: { import_id: id } });

export const logArchiveQuery = (id: string) => generated.getLogArchiveOptions({ path: { cluster_id: id } });

/** What a restore would do; null: it is not said yet what to restore, and nobody asks. */
export const restorePlanQuery = (backupId: string, order: RestoreOrder | null) => ({
  queryKey: ["restore plan", backupId, order],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    if (order === null) throw new Error("a plan needs an order");
    const { data } = await planRestore({ path: { backup_id: backupId }, body: order, signal, throwOnError: true });
    return data;
  },
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

/** What a clone would do; null: it is not said yet what to clone, and nobody asks. */
export const clonePlanQuery = (clusterId: string, order: CloneOrder | null) => ({
  queryKey: ["clone plan", clusterId, order],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    if (order === null) throw new Error("a plan needs an order");
    const { data } = await planClone({ path: { cluster_id: clusterId }, body: order, signal, throwOnError: true });
    return data;
  },
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

export const restoresQuery = (id: string) =>
  generated.listRestoresOptions({ path: { cluster_id: id }, query: { limit: 20 } });

export const restoreQuery = (id: string) => generated.getRestoreOptions({ path: { restore_id: id } });

export const takeOverPlanQuery = (id: string) => ({
  ...generated.planTakeOverOptions({ path: { restore_id: id } }),
  staleTime: 0,
  gcTime: 0,
});

export const purgePlanQuery = (id: string) => ({
  ...generated.planBackupLocationPurgeOptions({ path: { location_id: id } }),
  staleTime: 0,
  gcTime: 0,
});

export const clusterDrillsQuery = (id: string) => generated.getClusterDrillsOptions({ path: { cluster_id: id } });

export const drillsQuery = (id: string) =>
  generated.listDrillsOptions({ path: { cluster_id: id }, query: { limit: 20 } });

/** What a drill would do. */
export const drillPlanQuery = (clusterId: string, order: DrillOrder) => ({
  queryKey: ["drill plan", clusterId, order],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const { data } = await planDrill({ path: { cluster_id: clusterId }, body: order, signal, throwOnError: true });
    return data;
  },
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

export const clusterFindingsQuery = (id: string, cursor?: string) => ({
  ...generated.listClusterFindingsOptions({ path: { cluster_id: id }, query: { limit: 10, cursor } }),
  placeholderData: keepPreviousData,
});

/** What could be better about a cluster, or about one of its tables. */
export const adviceQuery = (
  id: string,
  wish: { keyspace?: string; table?: string; severity?: "critical" | "warning" | "hint"; dismissed?: boolean },
  cursor?: string,
) => ({
  ...generated.listAdviceOptions({ path: { cluster_id: id }, query: { limit: 50, cursor, ...wish } }),
  placeholderData: keepPreviousData,
});

export const tableChangesQuery = (id: string, wish: { keyspace?: string; table?: string }, cursor?: string) => ({
  ...generated.listTableChangesOptions({ path: { cluster_id: id }, query: { limit: 10, cursor, ...wish } }),
  placeholderData: keepPreviousData,
});

export const tableSchemaQuery = (id: string, keyspace: string, table: string) => ({
  ...generated.getTableSchemaOptions({ path: { cluster_id: id, keyspace, table } }),
  retry: false,
});

/** What applying a piece of advice, or taking a change back, would do. */
export const tablePlanQuery = (clusterId: string, of: { advice: string } | { change: string }, rewrite: boolean) => ({
  queryKey: ["table plan", clusterId, of, rewrite],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const more = { body: { rewrite }, signal, throwOnError: true } as const;
    const answer =
      "advice" in of
        ? await planAdvice({ path: { cluster_id: clusterId, advice_id: of.advice }, ...more })
        : await planTableChangeUndo({ path: { cluster_id: clusterId, change_id: of.change }, ...more });
    return answer.data;
  },
  staleTime: 0,
  gcTime: 0,
  retry: false,
});

/** What fires is Alertmanager's: no event tells of it, so it is asked for again as often as rules are evaluated. */
const ofAlertmanager = { refetchInterval: METRICS_MS, staleTime: 2000, retry: 1 };

export const firingAlertsQuery = () => ({ ...generated.listFiringAlertsOptions(), ...ofAlertmanager });

export const clusterFiringAlertsQuery = (id: string) => ({
  ...generated.listClusterFiringAlertsOptions({ path: { cluster_id: id } }),
  ...ofAlertmanager,
});

export const alertSilencesQuery = (id: string) => ({
  ...generated.listAlertSilencesOptions({ path: { cluster_id: id } }),
  ...ofAlertmanager,
});

export const alertRulesQuery = (id: string) => generated.listAlertRulesOptions({ path: { cluster_id: id } });

export type AlertsWish = Omit<NonNullable<ListClusterAlertsData["query"]>, "limit" | "cursor">;

export const clusterAlertsQuery = (id: string, wish: AlertsWish, cursor?: string) => ({
  ...generated.listClusterAlertsOptions({ path: { cluster_id: id }, query: { limit: PAGE_SIZE, cursor, ...wish } }),
  placeholderData: keepPreviousData,
});

export const alertReceiversQuery = (cursor?: string) => ({
  ...generated.listAlertReceiversOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

/** What was sent to a receiver; the first page holds the newest. */
export const alertDeliveryQuery = (receiverId: string, deliveryId: string) =>
  generated.getAlertDeliveryOptions({ path: { receiver_id: receiverId, delivery_id: deliveryId } });
export const alertDeliveriesQuery = (receiverId: string, cursor?: string) =>
  generated.listAlertDeliveriesOptions({ path: { receiver_id: receiverId }, query: { limit: PAGE_SIZE, cursor } });

/** What nodes can be asked, and what they were. */
export const diagnosticsQuery = (id: string) => generated.getDiagnosticsOptions({ path: { cluster_id: id } });

export const diagnosisQuery = (id: string, diagnosisId: string) =>
  generated.getDiagnosisOptions({ path: { cluster_id: id, diagnosis_id: diagnosisId } });

/** The caller's sessions in the CQL console, and what they may run. */
export const cqlConsoleQuery = (id: string) => generated.getCqlConsoleOptions({ path: { cluster_id: id } });

export const cqlHistoryQuery = (id: string, cursor?: string) => ({
  ...generated.listCqlStatementsOptions({ path: { cluster_id: id }, query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const allowlistQuery = (id: string) => generated.getAllowlistOptions({ path: { cluster_id: id } });

export const rolesQuery = (id: string) => generated.listRolesOptions({ path: { cluster_id: id } });

// Questions with a body: what they cost or need is worked out, and nothing changes.

/** What a cluster would cost, beside alternatives; null: there is no cluster yet, and nobody asks. */
export const estimateQuery = (body: EstimateOrder | null) => ({
  queryKey: ["estimate", body] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    if (body === null) throw new Error("an estimate needs a cluster");
    return (await estimateCost({ body, signal, throwOnError: true })).data;
  },
  staleTime: 60_000,
  placeholderData: keepPreviousData,
  enabled: body !== null,
});

export type CostsWish = NonNullable<GetCostsData["query"]>;
export type CostSearchGroup = NonNullable<CostsWish["group"]>;

/** What was spent. Hours are closed once in an hour, so it seldom changes. */
export const costsQuery = (query: CostsWish) => ({
  queryKey: ["costs", query] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) => (await getCosts({ query, signal, throwOnError: true })).data,
  staleTime: 60_000,
  placeholderData: keepPreviousData,
});

/** What could cost less, the largest sum first. */
export const savingsQuery = (cursor?: string) => ({
  ...generated.listSavingsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  staleTime: 60_000,
  placeholderData: keepPreviousData,
});

/** Lines of a month: 2026-11. */
export const invoiceQuery = (month: string, cursor?: string) => ({
  ...generated.getInvoiceOptions({ path: { month }, query: { limit: PAGE_SIZE, cursor } }),
  staleTime: 60_000,
  placeholderData: keepPreviousData,
});

/** Usage records of closed hours. */
export const usageQuery = (days: { from: string; to: string }, cursor?: string) => ({
  ...generated.listUsageOptions({ query: { ...days, limit: PAGE_SIZE, cursor } }),
  staleTime: 60_000,
  placeholderData: keepPreviousData,
});

/** What the running month will come to; of all clusters without an id. */
export const costForecastQuery = (cluster_id?: string) => ({
  ...generated.getCostForecastOptions({ query: { cluster_id } }),
  staleTime: 60_000,
});

export const costChangesQuery = (cluster_id?: string) => ({
  ...generated.getCostChangesOptions({ query: { cluster_id } }),
  staleTime: 60_000,
});

/** What the same load would cost at DynamoDB. */
export const dynamoDbQuery = (body: DynamoDbOrder) => ({
  queryKey: ["estimate dynamodb", body] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await estimateDynamodb({ body, signal, throwOnError: true })).data,
  staleTime: 60_000,
  retry: false,
});

export const sizingChoicesQuery = () => ({ ...generated.getSizingChoicesOptions(), staleTime: 600_000 });

/** Which clusters are large enough; null: nothing was asked yet. */
export const sizingQuery = (body: SizingOrder | null) => ({
  queryKey: ["sizing", body] as const,
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    if (body === null) throw new Error("a plan needs a load");
    return (await planSize({ body, signal, throwOnError: true })).data;
  },
  staleTime: 60_000,
  retry: false,
  enabled: body !== null,
});

export const budgetsQuery = (cursor?: string) => ({
  ...generated.listBudgetsOptions({ query: { limit: 100, cursor } }),
  placeholderData: keepPreviousData,
  refetchInterval: 60_000,
});

export const ceilingsQuery = (cursor?: string) => ({
  ...generated.listCeilingsOptions({ query: { limit: PAGE_SIZE, cursor } }),
  placeholderData: keepPreviousData,
});

export const maintenanceWindowsQuery = (id: string) =>
  generated.getMaintenanceWindowsOptions({ path: { cluster_id: id } });

export {
  acceptInvitationMutation,
  applyAdviceMutation,
  askNodeMutation,
  cancelOperationMutation,
  changeClusterMutation,
  changeMemberRoleMutation,
  checkBackupLocationMutation,
  checkCloudAccountMutation,
  checkClusterOrderMutation,
  cloneClusterMutation,
  closeCqlSessionMutation,
  confirmDeletionRequestMutation,
  createAlertReceiverMutation,
  createAlertSilenceMutation,
  createBackupLocationMutation,
  createBackupMutation,
  createBackupScheduleMutation,
  createBudgetMutation,
  createCloudAccountMutation,
  createClusterMutation,
  createDeletionRequestMutation,
  createGroupRoleMutation,
  createImportMutation,
  createInvitationMutation,
  createNetworkConnectionMutation,
  createOrganisationRoleMutation,
  createRoleMutation,
  createServiceAccountMutation,
  createTokenMutation,
  deleteAlertReceiverMutation,
  deleteBackupLocationMutation,
  deleteBackupMutation,
  deleteBackupScheduleMutation,
  deleteBudgetMutation,
  deleteCloudAccountMutation,
  deleteClusterMutation,
  deleteGroupRoleMutation,
  deleteNetworkConnectionMutation,
  deleteOrganisationRoleMutation,
  deleteRoleMutation,
  deprecateImageMutation,
  dismissAdviceMutation,
  endMemberSessionsMutation,
  endOtherSessionsMutation,
  endSessionMutation,
  expireAlertSilenceMutation,
  extendTestDriveMutation,
  forgetCqlStatementMutation,
  grantRoleMutation,
  keepTestDriveMutation,
  makeImageDefaultMutation,
  openCqlSessionMutation,
  pauseOperationMutation,
  planImportMutation,
  purgeBackupLocationMutation,
  refreshRolesMutation,
  registerImageMutation,
  removeCeilingMutation,
  removeMemberMutation,
  replaceBackupScheduleMutation,
  replayAlertDeliveryMutation,
  resetMemberSecondFactorMutation,
  restoreAdviceMutation,
  restoreBackupMutation,
  restoreImageMutation,
  resumeOperationMutation,
  retryOperationMutation,
  revealBackupKeyMutation,
  revealCredentialsMutation,
  revealRolePasswordMutation,
  reviewClusterMutation,
  revokeInvitationMutation,
  revokeRoleMutation,
  revokeTokenMutation,
  rotateAlertReceiverSecretMutation,
  rotateCredentialsMutation,
  rotateRolePasswordMutation,
  runRepairMutation,
  setCeilingMutation,
  setDrillScheduleMutation,
  setLogArchiveMutation,
  setRepairPolicyMutation,
  setRepairScheduleMutation,
  startDrillMutation,
  takeOverMutation,
  testAlertReceiverMutation,
  undoTableChangeMutation,
  updateAccessSettingsMutation,
  updateAlertRuleMutation,
  updateCloudAccountMutation,
  updateClusterMutation,
  updateGroupRoleMutation,
  updateServiceAccountMutation,
  verifyBackupMutation,
  withdrawDeletionRequestMutation,
} from "./__generated__/@tanstack/react-query.gen";

/** Everything on the screen is asked for again. After a mutation; the event stream does the finer work. */
export function refresh(): Promise<void> {
  return queryClient.invalidateQueries();
}
