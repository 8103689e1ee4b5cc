import Button, { type ButtonProps } from "@cloudscape-design/components/button";
import type { AllowedAction } from "../api";

interface Props
  extends Pick<ButtonProps, "variant" | "loading" | "loadingText" | "iconName" | "ariaLabel" | "onClick" | "children"> {
  /** The API's word for it, and the API's list of what is possible now. */
  action: string;
  allowed: readonly AllowedAction[];
}

/** A button for something the API allows or not; where it does not, it says why. */
export function ActionButton({ action, allowed, ...button }: Props) {
  const rule = allowed.find((each) => each.action === action);
  const isAllowed = rule?.allowed ?? false;
  return (
    <Button
      {...button}
      disabled={!isAllowed}
      disabledReason={isAllowed ? undefined : (rule?.reason ?? "This is not possible now.")}
    />
  );
}
