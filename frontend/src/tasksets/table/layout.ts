/** Which columns a person sees of a taskset, in which order and how wide: kept on the server under their name, so every browser has it. */
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client";

/** Shown columns in order after the slug; widths of those that were resized. */
export interface Layout {
  columns?: string[];
  widths?: Record<string, number>;
}

const path = (taskset: string) => `/api/me/preferences/tasks.${taskset}`;

const layoutQuery = (taskset: string) =>
  queryOptions({ queryKey: ["preferences", "tasks", taskset], queryFn: async () => readLayout(await api<unknown>(path(taskset))), staleTime: Infinity });

/** What is kept may come from an older page or another program. */
export function readLayout(kept: unknown): Layout {
  if (typeof kept !== "object" || kept === null) return {};
  const { columns, widths } = kept as { columns?: unknown; widths?: unknown };
  const found: Layout = {};
  if (Array.isArray(columns)) found.columns = columns.filter((one): one is string => typeof one === "string");
  if (typeof widths === "object" && widths !== null) found.widths = Object.fromEntries(Object.entries(widths).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0));
  return found;
}

export interface KeptLayout {
  layout: Layout;
  ready: boolean;
  /** Shows it at once; `keep` also sends it. */
  change: (layout: Layout, keep?: boolean) => void;
}

export function useLayout(taskset: string): KeptLayout {
  const client = useQueryClient();
  const kept = useQuery(layoutQuery(taskset));
  const { mutate } = useMutation({ mutationFn: (layout: Layout) => api(path(taskset), { method: "PUT", body: layout, repeatable: true }), scope: { id: path(taskset) } });
  return {
    layout: kept.data ?? {},
    ready: !kept.isPending,
    change: (layout, keep = true) => {
      client.setQueryData(layoutQuery(taskset).queryKey, layout);
      if (keep) mutate(layout);
    },
  };
}

/** One place to the front or back. */
export function moved(columns: readonly string[], column: string, by: -1 | 1): string[] {
  const from = columns.indexOf(column);
  const to = from + by;
  if (from < 0 || to < 0 || to >= columns.length) return [...columns];
  const next = columns.filter((one) => one !== column);
  next.splice(to, 0, column);
  return next;
}
