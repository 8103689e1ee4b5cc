import type { FlashbarProps } from "@cloudscape-design/components/flashbar";
import { useSyncExternalStore } from "react";

export interface Toast {
  id: string;
  type: "success" | "error" | "info" | "warning";
  header?: string;
  content?: string;
}

// Toasts are one of the two things the console keeps globally: they outlive the page that caused them.
let toasts: Toast[] = [];
let counter = 0;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const SUCCESS_SECONDS = 6;

/** Good news leaves by itself; trouble stays until it is dismissed. */
export function toast(message: Omit<Toast, "id">): void {
  counter += 1;
  const id = `toast-${counter}`;
  change([...toasts, { ...message, id }]);
  if (message.type === "success") setTimeout(() => dismiss(id), SUCCESS_SECONDS * 1000);
}

function dismiss(id: string): void {
  change(toasts.filter((each) => each.id !== id));
}

export function useToasts(): FlashbarProps.MessageDefinition[] {
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return current.map((each) => ({
    ...each,
    dismissible: true,
    dismissLabel: "Dismiss message",
    onDismiss: () => dismiss(each.id),
    statusIconAriaLabel: each.type,
  }));
}
