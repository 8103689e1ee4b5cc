import { applyMode, Mode } from "@cloudscape-design/global-styles";
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";

const KEY = "ringmaster.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

function isDark(): boolean {
  const theme = stored();
  return theme === "dark" || (theme === "system" && dark.matches);
}

function apply(): void {
  applyMode(isDark() ? Mode.Dark : Mode.Light);
  // Scroll bars and native controls follow too.
  document.documentElement.style.colorScheme = isDark() ? "dark" : "light";
}

/** Called once before the first paint. */
export function startTheme(): void {
  apply();
  dark.addEventListener("change", apply);
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  apply();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, stored);
}

/** Whether what is on the screen is dark: for what is painted, and cannot follow by its style sheet. */
export function useIsDark(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    dark.addEventListener("change", listener);
    return () => {
      listeners.delete(listener);
      dark.removeEventListener("change", listener);
    };
  }, isDark);
}
