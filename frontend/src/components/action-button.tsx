import Button, { type ButtonProps } from "@cloudscape-design/components/button";
import type { AllowedAction } from "../api";
import { reasonAgainst } from "../util/allowed";

interface Props
  extends Pick<ButtonProps, "variant" | "loading" | "loadingText" | "iconName" | "ariaLabel" | "onClick" | "children"> {
  /** The API's word for it, and the API's list of what is possible now. */
  action: string;
  allowed: readonly AllowedAction[];
}

/** A button for something the API allows or not; where it does not, it says why. */
export function ActionButton({ action, allowed, ...button }: Props) {
  const reason = reasonAgainst(action, allowed);
  return <Button {...button} disabled={reason !== undefined} disabledReason={reason} />;
}
