import type { Role } from "../api";

/** What each role is for, in a few words. What it may do is the API's business. */
export const ROLES: Record<Role, string> = {
  owner: "Everything, owners included",
  admin: "Everything but owners",
  operator: "Clusters, passwords and own tokens",
  viewer: "Look only",
};

export const ROLE_OPTIONS = Object.entries(ROLES).map(([value, description]) => ({ value, label: value, description }));
