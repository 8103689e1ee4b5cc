import type { Catalog } from "../api";

const NAMES: Record<string, string> = { aws: "AWS", gcp: "Google Cloud" };

export type Cloud = "aws" | "gcp";

export function cloudName(provider: string): string {
  return NAMES[provider] ?? provider;
}

/** The clouds that can be ordered from, and so in which an account is of use. */
export function cloudsOf(catalog: Catalog | undefined): Cloud[] {
  const offered = catalog?.providers.map(({ id }) => id) ?? [];
  return offered.filter((id): id is Cloud => id in NAMES);
}

/** Whether machines of a provider are made from images. */
export function hasImages(provider: string): boolean {
  return provider in NAMES;
}
