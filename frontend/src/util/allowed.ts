import type { AllowedAction } from "../api";

/** Why an action is not possible now, by the API's list of what is; undefined: it is. */
export function reasonAgainst(action: string, allowed: readonly AllowedAction[]): string | undefined {
  const rule = allowed.find((each) => each.action === action);
  return rule?.allowed ? undefined : (rule?.reason ?? "This is not possible now.");
}
