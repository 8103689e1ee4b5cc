import { queryOptions } from "@tanstack/react-query";
import { sendJson } from "./client";
import { queryClient } from "./query-client";
import { sessionQuery } from "./session";

// Beside the API's description, as sign-in is: no program has a second factor.
const OWN = "/_allauth/browser/v1/account/authenticators";

interface Factor {
  created_at: string;
  /** null: never. */
  last_used_at: string | null;
}

export interface Factors {
  totp: Factor | null;
  recovery_codes: (Factor & { unused: number }) | null;
}

export interface TotpBegun {
  /** As base32, for people to type. */
  secret: string;
  url: string;
  /** Modules on a side, and the dark ones as the path of an SVG. */
  qr: { size: number; path: string };
}

export const factorsQuery = queryOptions({
  queryKey: [{ _id: "secondFactor" }],
  queryFn: () => ask<Factors>("GET", OWN),
});

/** A new secret; it counts when `confirmTotp` had a code of it. */
export function beginTotp(): Promise<TotpBegun> {
  return ask<TotpBegun>("PUT", `${OWN}/totp`);
}

/** The recovery codes, which are shown once; null: those from before stay. */
export async function confirmTotp(code: string): Promise<string[] | null> {
  const { recovery_codes } = await ask<{ recovery_codes: string[] | null }>("POST", `${OWN}/totp`, { code });
  await askAgain();
  return recovery_codes;
}

export async function removeTotp(): Promise<void> {
  await sendJson("DELETE", `${OWN}/totp`);
  await askAgain();
}

/** Those from before are good for nothing then. */
export async function newRecoveryCodes(): Promise<string[]> {
  const { recovery_codes } = await ask<{ recovery_codes: string[] }>("POST", `${OWN}/recovery-codes`);
  await queryClient.invalidateQueries(factorsQuery);
  return recovery_codes;
}

async function askAgain(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(factorsQuery),
    queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }),
  ]);
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await sendJson(method, path, body);
  return ((await answer.json()) as { data: T }).data;
}
