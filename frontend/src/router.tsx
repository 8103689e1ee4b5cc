import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import {
  accessSettingsQuery,
  alertReceiversQuery,
  allCloudAccountsQuery,
  auditQuery,
  backupLocationsQuery,
  backupsQuery,
  budgetsQuery,
  type ClusterState,
  catalogQuery,
  ceilingsQuery,
  cloudAccountQuery,
  cloudAccountsQuery,
  clusterQuery,
  clustersQuery,
  costChangesQuery,
  costForecastQuery,
  deletionRequestsQuery,
  descriptionQuery,
  factorsQuery,
  firingAlertsQuery,
  groupRolesQuery,
  identityProvidersQuery,
  imagesQuery,
  invitationsQuery,
  isStillSignedIn,
  membersQuery,
  nodeQuery,
  nodeTuningQuery,
  type OperationState,
  operationQuery,
  operationsQuery,
  organisationRolesQuery,
  queryClient,
  roleChoicesQuery,
  serviceAccountsQuery,
  sessionQuery,
  sessionsQuery,
  sizingChoicesQuery,
  sizingQuery,
  tableMetricsQuery,
  tokensQuery,
  whenFactorNeeded,
  whenSignedOut,
} from "./api";
import { PageError } from "./components/page-error";
import { CLUSTER_STATES, OPERATION_STATES } from "./components/states";
import { CLUSTER_PAGE_IDS, type ClusterPageId, clusterPage } from "./pages/cluster-pages";
import { NotFoundPage } from "./pages/not-found";
import { type CostRange, readCosts } from "./util/costs";
import { readRange, shownTime } from "./util/metric-range";
import { type MetricsSearch, readMetrics } from "./util/metrics-search";
import { type Prefill, readPrefill } from "./util/order";
import { lastCursor, readCursors, readText, readWord, returnPath } from "./util/search";
import { readSizing, toSizingOrder } from "./util/sizing";

// The address says everything about the view. Loaders start the queries of a page while its code is still on the way;
// the page shows their progress and their errors.

const rootRoute = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { return_to?: string; problem?: string; second_step?: true } => ({
    return_to: readText(search.return_to),
    problem: readText(search.problem),
    // Back from an identity provider, for who has a second factor here.
    second_step: search.second_step === true ? true : undefined,
  }),
  beforeLoad: async ({ search }) => {
    const session = await queryClient.ensureQueryData(sessionQuery);
    if (session.authenticated && !search.problem) throw redirect({ href: returnPath(search.return_to), replace: true });
    if (session.without_organisation && !search.problem) throw redirect({ to: "/no-organisation", replace: true });
    void queryClient.prefetchQuery(identityProvidersQuery());
  },
  component: lazyRouteComponent(() => import("./forms/sign-in"), "SignInPage"),
});

const noOrganisationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/no-organisation",
  beforeLoad: async () => {
    const session = await queryClient.ensureQueryData(sessionQuery);
    if (!session.without_organisation) throw redirect({ to: "/clusters", replace: true });
  },
  component: lazyRouteComponent(() => import("./pages/no-organisation"), "NoOrganisationPage"),
});

const acceptInvitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/accept-invitation",
  component: lazyRouteComponent(() => import("./forms/invitation-accept"), "InvitationAcceptPage"),
});

const consoleRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "console",
  beforeLoad: async ({ location }) => {
    const session = await queryClient.ensureQueryData(sessionQuery);
    if (session.without_organisation) throw redirect({ to: "/no-organisation" });
    if (!session.authenticated) throw redirect({ to: "/sign-in", search: { return_to: location.href } });
    if (session.second_factor_needed && location.pathname !== "/second-factor")
      throw redirect({ to: "/second-factor" });
  },
  component: lazyRouteComponent(() => import("./layouts/console-layout"), "ConsoleLayout"),
});

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/clusters", replace: true });
  },
});

const clustersRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/clusters",
  validateSearch: (
    search: Record<string, unknown>,
  ): { q?: string; state?: ClusterState; engine?: string; zone?: string; after?: string[] } => ({
    q: readText(search.q),
    state: readWord(search.state, CLUSTER_STATES),
    engine: readText(search.engine),
    zone: readText(search.zone),
    after: readCursors(search.after),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after, ...filters } }) => {
    void queryClient.prefetchQuery(clustersQuery({ ...filters, cursor: lastCursor(after) }));
    void queryClient.prefetchQuery(catalogQuery());
  },
  component: lazyRouteComponent(() => import("./pages/clusters"), "ClustersPage"),
});

const clusterOrderRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/clusters/new",
  validateSearch: (search: Record<string, unknown>): { step?: number } & Prefill => ({
    ...readPrefill(search),
    step: typeof search.step === "number" ? search.step : undefined,
  }),
  loader: () => {
    void queryClient.prefetchQuery(catalogQuery());
    void queryClient.prefetchQuery(allCloudAccountsQuery());
  },
  component: lazyRouteComponent(() => import("./forms/cluster-order"), "ClusterOrderPage"),
});

const clusterRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/clusters/$clusterId",
  validateSearch: (
    search: Record<string, unknown>,
  ): {
    tab?: ClusterPageId;
    snippet?: string;
    after?: string[];
    found?: string[];
    node?: string;
    ask?: string;
    asked?: string;
    spent?: CostRange;
  } & MetricsSearch => ({
    ...readMetrics(search),
    spent: readCosts(search).spent,
    tab: readWord(search.tab, CLUSTER_PAGE_IDS),
    found: readCursors(search.found),
    node: readText(search.node),
    ask: readText(search.ask),
    asked: readText(search.asked),
    snippet: readText(search.snippet),
    after: readCursors(search.after),
  }),
  loaderDeps: ({ search: { tab, after } }) => ({ tab, after }),
  loader: ({ params: { clusterId }, deps: { tab, after } }) => {
    void queryClient.prefetchQuery(clusterQuery(clusterId));
    clusterPage(tab).load(clusterId, { after });
  },
  component: lazyRouteComponent(() => import("./pages/cluster"), "ClusterPage"),
});

const tableRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/clusters/$clusterId/tables/$keyspace/$table",
  validateSearch: readRange,
  loaderDeps: ({ search }) => search,
  loader: ({ params: { clusterId, keyspace, table }, deps }) => {
    void queryClient.prefetchQuery(clusterQuery(clusterId));
    void queryClient.prefetchQuery(tableMetricsQuery(clusterId, keyspace, table, shownTime(deps)));
  },
  component: lazyRouteComponent(() => import("./pages/table"), "TablePage"),
});

const nodeRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/clusters/$clusterId/nodes/$nodeId",
  loader: ({ params: { clusterId, nodeId } }) => {
    void queryClient.prefetchQuery(clusterQuery(clusterId));
    void queryClient.prefetchQuery(nodeQuery(clusterId, nodeId));
    void queryClient.prefetchQuery(nodeTuningQuery(clusterId, nodeId));
  },
  component: lazyRouteComponent(() => import("./pages/node"), "NodePage"),
});

const sizingRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/sizing",
  validateSearch: readSizing,
  loaderDeps: ({ search }) => search,
  loader: ({ deps }) => {
    void queryClient.prefetchQuery(sizingChoicesQuery());
    void queryClient.prefetchQuery(catalogQuery());
    const order = toSizingOrder(deps);
    if (order !== null) void queryClient.prefetchQuery(sizingQuery(order));
  },
  component: lazyRouteComponent(() => import("./pages/sizing"), "SizingPage"),
});

const costsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/costs",
  validateSearch: readCosts,
  loader: () => {
    void queryClient.prefetchQuery(costForecastQuery());
    void queryClient.prefetchQuery(costChangesQuery());
    void queryClient.prefetchQuery(budgetsQuery());
  },
  component: lazyRouteComponent(() => import("./pages/costs"), "CostsPage"),
});

const budgetsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/budgets",
  validateSearch: (search: Record<string, unknown>): { after?: string[]; below?: string[] } => ({
    after: readCursors(search.after),
    below: readCursors(search.below),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after, below } }) => {
    void queryClient.prefetchQuery(budgetsQuery(lastCursor(after)));
    void queryClient.prefetchQuery(ceilingsQuery(lastCursor(below)));
  },
  component: lazyRouteComponent(() => import("./pages/budgets"), "BudgetsPage"),
});

const operationsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/operations",
  validateSearch: (search: Record<string, unknown>): { state?: OperationState; after?: string[] } => ({
    state: readWord(search.state, OPERATION_STATES),
    after: readCursors(search.after),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after, ...filters } }) =>
    void queryClient.prefetchQuery(operationsQuery({ ...filters, cursor: lastCursor(after) })),
  component: lazyRouteComponent(() => import("./pages/operations"), "OperationsPage"),
});

const operationRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/operations/$operationId",
  loader: ({ params: { operationId } }) => void queryClient.prefetchQuery(operationQuery(operationId)),
  component: lazyRouteComponent(() => import("./pages/operation"), "OperationPage"),
});

const backupsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/backups",
  loader: () => {
    void queryClient.prefetchQuery(backupsQuery());
    void queryClient.prefetchQuery(backupLocationsQuery());
  },
  component: lazyRouteComponent(() => import("./pages/backups"), "BackupsPage"),
});

const alertsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/alerts",
  validateSearch: (search: Record<string, unknown>): { after?: string[]; receiver?: string; sent?: string[] } => ({
    after: readCursors(search.after),
    receiver: readText(search.receiver),
    sent: readCursors(search.sent),
  }),
  loaderDeps: ({ search: { after } }) => ({ after }),
  loader: ({ deps: { after } }) => {
    void queryClient.prefetchQuery(firingAlertsQuery());
    void queryClient.prefetchQuery(alertReceiversQuery(lastCursor(after)));
  },
  component: lazyRouteComponent(() => import("./pages/alerts"), "AlertsPage"),
});

const cloudAccountsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/cloud-accounts",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => {
    void queryClient.prefetchQuery(cloudAccountsQuery(lastCursor(after)));
    void queryClient.prefetchQuery(catalogQuery());
  },
  component: lazyRouteComponent(() => import("./pages/cloud-accounts"), "CloudAccountsPage"),
});

const cloudAccountRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/cloud-accounts/$accountId",
  loader: ({ params: { accountId } }) => void queryClient.prefetchQuery(cloudAccountQuery(accountId)),
  component: lazyRouteComponent(() => import("./pages/cloud-account"), "CloudAccountPage"),
});

const imagesRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/images",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => {
    void queryClient.prefetchQuery(imagesQuery(lastCursor(after)));
    void queryClient.prefetchQuery(catalogQuery());
  },
  component: lazyRouteComponent(() => import("./pages/images"), "ImagesPage"),
});

const tokensRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/tokens",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => void queryClient.prefetchQuery(tokensQuery(lastCursor(after))),
  component: lazyRouteComponent(() => import("./pages/tokens"), "TokensPage"),
});

const sessionsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/sessions",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => void queryClient.prefetchQuery(sessionsQuery(lastCursor(after))),
  component: lazyRouteComponent(() => import("./pages/sessions"), "SessionsPage"),
});

const secondFactorRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/second-factor",
  loader: () => void queryClient.prefetchQuery(factorsQuery),
  component: lazyRouteComponent(() => import("./pages/second-factor"), "SecondFactorPage"),
});

const membersRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/members",
  validateSearch: (search: Record<string, unknown>): { active?: boolean; after?: string[] } => ({
    active: typeof search.active === "boolean" ? search.active : undefined,
    after: readCursors(search.after),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { active, after } }) => {
    void queryClient.prefetchQuery(membersQuery(active, lastCursor(after)));
    void queryClient.prefetchQuery(invitationsQuery());
  },
  component: lazyRouteComponent(() => import("./pages/members"), "MembersPage"),
});

const rolesRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/roles",
  loader: () => {
    void queryClient.prefetchQuery(organisationRolesQuery());
    void queryClient.prefetchQuery(roleChoicesQuery());
  },
  component: lazyRouteComponent(() => import("./pages/roles"), "RolesPage"),
});

const groupsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/groups",
  loader: () => {
    void queryClient.prefetchQuery(groupRolesQuery());
    void queryClient.prefetchQuery(identityProvidersQuery());
    void queryClient.prefetchQuery(accessSettingsQuery());
  },
  component: lazyRouteComponent(() => import("./pages/groups"), "GroupsPage"),
});

const serviceAccountsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/service-accounts",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => void queryClient.prefetchQuery(serviceAccountsQuery(lastCursor(after))),
  component: lazyRouteComponent(() => import("./pages/service-accounts"), "ServiceAccountsPage"),
});

const deletionRequestsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/deletion-requests",
  validateSearch: (search: Record<string, unknown>): { after?: string[] } => ({ after: readCursors(search.after) }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after } }) => void queryClient.prefetchQuery(deletionRequestsQuery(lastCursor(after))),
  component: lazyRouteComponent(() => import("./pages/deletion-requests"), "DeletionRequestsPage"),
});

const auditRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/audit",
  validateSearch: (
    search: Record<string, unknown>,
  ): {
    action?: string;
    actor?: string;
    target_id?: string;
    q?: string;
    from?: string;
    to?: string;
    after?: string[];
  } => ({
    action: readText(search.action),
    actor: readText(search.actor),
    target_id: readText(search.target_id),
    q: readText(search.q),
    from: readText(search.from),
    to: readText(search.to),
    after: readCursors(search.after),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ deps: { after, ...filters } }) =>
    void queryClient.prefetchQuery(auditQuery({ ...filters, cursor: lastCursor(after) })),
  component: lazyRouteComponent(() => import("./pages/audit"), "AuditPage"),
});

const apiReferenceRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/api-reference",
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: readText(search.q) }),
  loader: () => void queryClient.prefetchQuery(descriptionQuery),
  component: lazyRouteComponent(() => import("./pages/api-reference"), "ApiReferencePage"),
});

const apiErrorsRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/api-reference/errors",
  validateSearch: (search: Record<string, unknown>): { q?: string } => ({ q: readText(search.q) }),
  loader: () => void queryClient.prefetchQuery(descriptionQuery),
  component: lazyRouteComponent(() => import("./pages/api-errors"), "ApiErrorsPage"),
});

const apiOperationRoute = createRoute({
  getParentRoute: () => consoleRoute,
  path: "/api-reference/$operation",
  loader: () => void queryClient.prefetchQuery(descriptionQuery),
  component: lazyRouteComponent(() => import("./pages/api-operation"), "ApiOperationPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    homeRoute,
    signInRoute,
    acceptInvitationRoute,
    noOrganisationRoute,
    consoleRoute.addChildren([
      clustersRoute,
      clusterOrderRoute,
      clusterRoute,
      tableRoute,
      nodeRoute,
      sizingRoute,
      costsRoute,
      budgetsRoute,
      operationsRoute,
      operationRoute,
      alertsRoute,
      backupsRoute,
      cloudAccountsRoute,
      cloudAccountRoute,
      imagesRoute,
      tokensRoute,
      sessionsRoute,
      secondFactorRoute,
      membersRoute,
      rolesRoute,
      groupsRoute,
      serviceAccountsRoute,
      deletionRequestsRoute,
      auditRoute,
      apiReferenceRoute,
      apiErrorsRoute,
      apiOperationRoute,
    ]),
  ]),
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
});

whenSignedOut(async () => {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in" || (await isStillSignedIn())) return;
  queryClient.clear();
  void router.navigate({ to: "/sign-in", search: { return_to: href } });
});

whenFactorNeeded(() => {
  if (router.state.location.pathname === "/second-factor") return;
  // What the session said is from before the organisation wanted one.
  queryClient.clear();
  void router.navigate({ to: "/second-factor" });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
