import type { PropertyFilterProps } from "@cloudscape-design/components/property-filter";
import type { ClusterState } from "../api";

/** What the address says about the list of clusters. `q` is free text: part of a name or of an id. */
export interface ClusterFilters {
  q?: string;
  state?: ClusterState;
  engine?: string;
  zone?: string;
}

const PROPERTIES = ["state", "engine", "zone"] as const;

export function tokensFromFilters(filters: ClusterFilters): PropertyFilterProps.Token[] {
  const tokens: PropertyFilterProps.Token[] = [];
  if (filters.q) tokens.push({ operator: ":", value: filters.q });
  for (const key of PROPERTIES) {
    const value = filters[key];
    if (value) tokens.push({ propertyKey: key, operator: "=", value });
  }
  return tokens;
}

/** The API takes one value per filter: the last one chosen is meant. */
export function filtersFromTokens(tokens: readonly PropertyFilterProps.Token[]): ClusterFilters {
  const filters: ClusterFilters = {};
  for (const token of tokens) {
    const value = String(token.value);
    // The filter offers only states that exist.
    if (token.propertyKey === "state") filters.state = value as ClusterState;
    else if (token.propertyKey === "engine") filters.engine = value;
    else if (token.propertyKey === "zone") filters.zone = value;
    else filters.q = value;
  }
  return filters;
}
