/** Reads of imports as query options. */
import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { Listing } from "../api/queries";
import type { ErrorGroup, FolderOutcome, ImportOut, Page, RowError, RowOut } from "../api/types";
import { isRunning } from "./paths";

const POLL_MS = 500;

export const importQuery = (id: string) =>
  queryOptions({
    queryKey: ["imports", "one", id],
    queryFn: () => api<ImportOut>(`/api/imports/${id}`, { query: { preview: 0 } }),
    refetchInterval: (query) => (query.state.data && isRunning(query.state.data) ? POLL_MS : false),
  });

function listing<T>(key: readonly unknown[], path: string, filter: Record<string, string | number> = {}): Listing<T> {
  return { key: [...key, filter], read: (cursor, signal) => api<Page<T>>(path, { query: { limit: 200, ...filter, cursor }, signal }) };
}

export const importsQuery = (taskset: string) => listing<ImportOut>(["imports", "of", taskset], `/api/tasksets/${taskset}/imports`, { limit: 100 });
export const unfinishedQuery = listing<ImportOut>(["imports", "unfinished"], "/api/imports", { limit: 20 });
export const foldersQuery = (id: string) => listing<FolderOutcome>(["imports", "folders", id], `/api/imports/${id}/folders`);

export interface Group {
  rule: string;
  column: string | null;
}

/** `check` grows with each check, so that an old list is not taken for the new one. */
export const errorsQuery = (id: string, check: number, group: Group | null) =>
  listing<RowError>(["imports", "errors", id, check], `/api/imports/${id}/errors`, group ? { rule: group.rule, ...(group.column === null ? {} : { column: group.column }) } : {});
export const groupsQuery = (id: string, check: number) =>
  queryOptions({ queryKey: ["imports", "groups", id, check], queryFn: () => api<Page<ErrorGroup>>(`/api/imports/${id}/errors/groups`, { query: { limit: 100 } }) });
export const rowQuery = (id: string, line: number) => queryOptions({ queryKey: ["imports", "row", id, line], queryFn: () => api<RowOut>(`/api/imports/${id}/rows/${line}`), staleTime: 0, gcTime: 0 });
