import {
  getAlertReceiver,
  getAllowlist,
  getBudget,
  getCluster,
  getMaintenanceWindows,
  getOrganisationRole,
  getServiceAccount,
  replaceAllowlist,
  setMaintenanceWindows,
  updateAlertReceiver,
  updateBudget,
  updateCluster,
  updateOrganisationRole,
  updateServiceAccount,
} from "./__generated__/sdk.gen";
import type {
  AlertReceiver,
  Allowlist,
  Budget,
  Cluster,
  MaintenanceWindows,
  OrganisationRole,
  ReplaceAllowlistData,
  ServiceAccount,
  SetMaintenanceWindowsData,
  UpdateAlertReceiverData,
  UpdateBudgetData,
  UpdateClusterData,
  UpdateOrganisationRoleData,
  UpdateServiceAccountData,
} from "./__generated__/types.gen";
import { ApiError } from "./errors";

/** Somebody saved it while a form was open. Nothing was written. */
export class ChangedMeanwhile<Thing> extends Error {
  constructor(readonly now: Thing) {
    super("Somebody changed this while you were editing.");
  }
}

type IfMatch = { "If-Match": string };

/** How a thing that has an ETag is read and written. What `write` answers is the thing as it is then. */
export interface Editable<Thing, Body> {
  read: () => Promise<{ data: Thing; response: Response }>;
  write: (body: Body, headers: IfMatch) => Promise<Thing>;
}

const TRIES = 5;

/**
 * Writes unless somebody changed, since `opened`, what `edited` picks of the thing; throws ChangedMeanwhile then.
 *
 * The tag is of all that the API tells of a thing, also of figures that change by themselves (what is spent of a budget,
 * how a cluster is). So it is not kept from the opening on: the thing is read again, compared in what the form edits, and
 * written with the tag of that reading. When the tag does not fit any more, all of it is done again.
 */
export async function saveUnlessChanged<Thing, Body>(
  { read, write }: Editable<Thing, Body>,
  { opened, edited, body }: { opened: Thing; edited: (thing: Thing) => unknown; body: Body },
): Promise<Thing> {
  for (let tries = 1; ; tries += 1) {
    const { data, response } = await read();
    if (JSON.stringify(edited(data)) !== JSON.stringify(edited(opened))) throw new ChangedMeanwhile(data);
    const tag = response.headers.get("ETag");
    if (tag === null) throw new Error("A proxy takes the ETag out of answers: ask who runs this installation.");
    try {
      return await write(body, { "If-Match": tag });
    } catch (problem) {
      const isOutdated = problem instanceof ApiError && problem.code === "precondition_failed";
      if (!isOutdated || tries === TRIES) throw problem;
    }
  }
}

const throwOnError = true;

export const editableBudget = (id: string): Editable<Budget, UpdateBudgetData["body"]> => {
  const path = { budget_id: id };
  return {
    read: () => getBudget({ path, throwOnError }),
    write: async (body, headers) => (await updateBudget({ path, body, headers, throwOnError })).data,
  };
};

export const editableRole = (id: string): Editable<OrganisationRole, UpdateOrganisationRoleData["body"]> => {
  const path = { role_id: id };
  return {
    read: () => getOrganisationRole({ path, throwOnError }),
    write: async (body, headers) => (await updateOrganisationRole({ path, body, headers, throwOnError })).data,
  };
};

export const editableReceiver = (id: string): Editable<AlertReceiver, UpdateAlertReceiverData["body"]> => {
  const path = { receiver_id: id };
  return {
    read: () => getAlertReceiver({ path, throwOnError }),
    write: async (body, headers) => (await updateAlertReceiver({ path, body, headers, throwOnError })).data,
  };
};

export const editableServiceAccount = (id: string): Editable<ServiceAccount, UpdateServiceAccountData["body"]> => {
  const path = { service_account_id: id };
  return {
    read: () => getServiceAccount({ path, throwOnError }),
    write: async (body, headers) => (await updateServiceAccount({ path, body, headers, throwOnError })).data,
  };
};

export const editableCluster = (id: string): Editable<Cluster, UpdateClusterData["body"]> => {
  const path = { cluster_id: id };
  return {
    read: () => getCluster({ path, throwOnError }),
    write: async (body, headers) => (await updateCluster({ path, body, headers, throwOnError })).data,
  };
};

export const editableAllowlist = (id: string): Editable<Allowlist, ReplaceAllowlistData["body"]> => {
  const path = { cluster_id: id };
  return {
    read: () => getAllowlist({ path, throwOnError }),
    write: async (body, headers) => (await replaceAllowlist({ path, body, headers, throwOnError })).data.allowlist,
  };
};

export const editableWindows = (id: string): Editable<MaintenanceWindows, SetMaintenanceWindowsData["body"]> => {
  const path = { cluster_id: id };
  return {
    read: () => getMaintenanceWindows({ path, throwOnError }),
    write: async (body, headers) => (await setMaintenanceWindows({ path, body, headers, throwOnError })).data,
  };
};
