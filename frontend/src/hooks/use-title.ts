import { useEffect } from "react";

/** The browser tab says where one is, most specific first. */
export function useTitle(...parts: string[]): void {
  const title = [...parts, "Ringmaster"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
