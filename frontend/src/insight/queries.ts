/** Reads of what was found out about a version. Lists carry when they were made, so that a new analysis is a new list. */
import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Listing } from "../api/queries";
import type { AnalysisOut, CheckFinding, DuplicatePair, LeakPlace, Page } from "../api/types";
import type { ListName } from "./words";

const LOOK_MS: Partial<Record<AnalysisOut["status"], number>> = { none: 3000, queued: 1000, running: 1000 };

/** `ref` names the version; while something is to come, it is asked again. */
export const analysisQuery = (ref: string) =>
  queryOptions({
    queryKey: ["tasksets", "analysis", ref],
    queryFn: () => api<AnalysisOut>(`/api/tasksets/${encodeURIComponent(ref)}/analysis`),
    refetchInterval: ({ state }) => (state.data ? (LOOK_MS[state.data.status] ?? false) : false),
  });

/** A row of any list: which task it is about, and what was found. */
export type Found = ({ list: "checks" } & CheckFinding) | ({ list: "exact" | "near" } & DuplicatePair) | ({ list: "leaks" } & LeakPlace);

const PATHS: Record<ListName, [string, Record<string, string>]> = {
  checks: ["checks", {}],
  exact: ["analysis/duplicates", { kind: "exact" }],
  near: ["analysis/duplicates", { kind: "near" }],
  leaks: ["analysis/leaks", {}],
};

export function findingsQuery(ref: string, list: ListName, made: string | null): Listing<Found> {
  const [path, filter] = PATHS[list];
  return {
    key: ["tasksets", "findings", ref, list, made],
    read: async (cursor, signal) => {
      const page = await api<Page<Found>>(`/api/tasksets/${encodeURIComponent(ref)}/${path}`, { query: { ...filter, limit: 200, cursor }, signal });
      return { ...page, items: page.items.map((item) => ({ ...item, list }) as Found) };
    },
  };
}
