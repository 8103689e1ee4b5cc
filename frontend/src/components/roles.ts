import type { OrganisationRole, Permission, Role } from "../api";

/** What each built-in role is for, in a few words. What it may do is the API's business. */
const BUILT_IN: Record<Exclude<Role, "custom">, string> = {
  owner: "Everything, owners included",
  admin: "Everything but owners",
  operator: "Clusters, passwords and own tokens",
  viewer: "Look only",
};

/** What each permission is for. */
export const PERMISSIONS: Record<Permission, string> = {
  "clusters:read": "Look at clusters, operations and the catalogue",
  "clusters:write": "Order, change and delete clusters",
  "credentials:read": "Reveal database passwords",
  "operations:write": "Cancel and retry operations",
  "members:read": "Look at members and invitations",
  "members:write": "Invite, change and remove members, and make roles",
  "tokens:write": "Make and revoke API tokens",
  "cloud-accounts:write": "Add, check and delete cloud accounts",
  "images:write": "Register, choose and deprecate machine images",
  "prices:write": "Upload prices and take them back",
  "budgets:write": "Make and change budgets and ceilings",
  "diagnostics:read": "Ask nodes about themselves; answers hold keys and values of data",
  "alerts:write": "Change alert rules, silences and receivers of alerts",
  "cql:read": "Run CQL that reads, as a role of the database whose password is known",
  "cql:write": "Run CQL that changes something, too",
  "audit:read": "Read the audit log",
  "backups:export": "Take backups out: addresses and the key that opens them",
};

/** A role as members and invitations hold it: built-in, or one that the organisation made. */
export interface HeldRole {
  role: Role;
  custom_role_id: string | null;
}

export function roleName(held: { role: Role; custom_role?: { name: string } | null }): string {
  return held.custom_role?.name ?? held.role;
}

export function roleOptions(custom: readonly OrganisationRole[], withoutOwner = false) {
  const builtIn = Object.entries(BUILT_IN)
    .filter(([value]) => !(withoutOwner && value === "owner"))
    .map(([value, description]) => ({ value, label: value, description }));
  if (custom.length === 0) return builtIn;
  return [
    { label: "Built in", options: builtIn },
    {
      label: "Your own",
      options: custom.map(({ id, name, description, tags }) => ({
        value: id,
        label: name,
        description: [description, tagsInWords(tags)].filter(Boolean).join(" · "),
      })),
    },
  ];
}

export function toHeldRole(value: string): HeldRole {
  return value in BUILT_IN ? { role: value as Role, custom_role_id: null } : { role: "custom", custom_role_id: value };
}

/** "Clusters with env = dev or test and team = shop"; empty for a role that is for all clusters. */
export function tagsInWords(tags: Readonly<Record<string, readonly string[]>> | null): string {
  if (tags === null) return "";
  const conditions = Object.entries(tags).map(([key, values]) => `${key} = ${values.join(" or ")}`);
  return `Clusters with ${conditions.join(" and ")}`;
}
