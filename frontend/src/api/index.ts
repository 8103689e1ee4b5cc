/** What the rest of the console may know of the API. */
export type {
  AccountCheck,
  AllowedAction,
  Allowlist,
  AuditRecord,
  Capacity,
  Catalog,
  CatalogEngineSetting as EngineSetting,
  CatalogMachineType,
  CatalogProvider,
  CatalogRegion,
  CloudAccount,
  CloudAccountDetail,
  CloudAccountOrder,
  Cluster,
  ClusterOrder,
  ClusterState,
  Connection,
  Credentials,
  DatabaseRole,
  DatabaseRoles,
  Finding,
  Grant,
  Invitation,
  InvitationOffer,
  MaintenanceWindow,
  MaintenanceWindows,
  Member,
  Node,
  NodeState,
  Operation,
  OperationDetail,
  OperationState,
  OperationStep,
  OrderCheck,
  Permission,
  Plan,
  PlannedChange,
  Role,
  Session,
  SetupStep,
  StepState,
  Token,
  TokenOrder,
  Weekday,
} from "./__generated__/types.gen";
export * from "./downloads";
export { ApiError, toApiError } from "./errors";
export * from "./events";
export { IdempotencyKeys } from "./idempotency";
export * from "./queries";
export { queryClient, whenSignedOut } from "./query-client";
export * from "./session";
