/** The rows of a table by their place, fetched in blocks around what is in view and dropped a minute after they were last seen.
 * While one scrolls fast only blocks that stay in view for a moment are asked for; the answer to another question keeps the old rows
 * until its first block is there. */
import { keepPreviousData, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../../api/client";
import type { Page, TaskRow } from "../../api/types";

export const BLOCK = 100;
const KEPT_MS = 60_000;
const SETTLE_MS = 60;

export interface Blocks {
  /** The question whose rows are shown. */
  shown: string;
  /** Of the question that is shown; null until the first answer. */
  total: number | null;
  rowAt: (index: number) => TaskRow | undefined;
  /** The rows that are here, of blocks in view and near. */
  loaded: () => TaskRow[];
  see: (first: number, last: number) => void;
  /** The rows shown answer an older question. */
  isStale: boolean;
  loading: boolean;
  error: Error | null;
  retry: () => void;
}

/** `reference` names a version, which never changes; `query` is the question as the address has it. */
export function useBlocks(reference: string, query: string): Blocks {
  const client = useQueryClient();
  const [shown, setShown] = useState(query);
  const [wanted, setWanted] = useState<readonly number[]>([0]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const first = useQuery({ ...blockQuery(reference, query, 0), placeholderData: keepPreviousData });
  const isStale = first.isPlaceholderData;
  if (first.data && !isStale && shown !== query) {
    setShown(query);
    setWanted([0]);
  }
  const see = useCallback((from: number, to: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setWanted((before) => sameOr(before, blocksOf(from, to))), SETTLE_MS);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  const answers = useQueries({ queries: wanted.map((block) => blockQuery(reference, shown, block)) });
  const failed = answers.find((answer) => answer.error);
  const pages = new Map(wanted.map((block, index) => [block, answers[index]?.data]));
  const page = (block: number) => {
    if (!pages.get(block)) pages.set(block, client.getQueryData<Page<TaskRow>>(blockKey(reference, shown, block)));
    return pages.get(block);
  };
  return {
    shown,
    total: page(0)?.total ?? first.data?.total ?? null,
    rowAt: (index) => page(Math.floor(index / BLOCK))?.items[index % BLOCK],
    loaded: () => wanted.flatMap((block) => page(block)?.items ?? []),
    see,
    isStale,
    loading: first.isPending,
    error: first.error ?? failed?.error ?? null,
    retry: () => void (first.error ? first.refetch() : failed?.refetch()),
  };
}

const sameOr = (before: readonly number[], after: readonly number[]) => (before.join() === after.join() ? before : after);

const blocksOf = (first: number, last: number) => {
  const from = Math.floor(first / BLOCK);
  return Array.from({ length: Math.floor(last / BLOCK) - from + 1 }, (_, offset) => from + offset);
};

const blockKey = (reference: string, query: string, block: number) => ["tasksets", "tasks", reference, query, block] as const;

const blockQuery = (reference: string, query: string, block: number) => ({
  queryKey: blockKey(reference, query, block),
  queryFn: ({ signal }: { signal: AbortSignal }) => {
    const asked = new URLSearchParams(query);
    asked.set("limit", String(BLOCK));
    asked.set("at", String(block * BLOCK));
    return api<Page<TaskRow>>(`/api/tasksets/${encodeURIComponent(reference)}/tasks?${asked.toString()}`, { signal });
  },
  staleTime: Infinity,
  gcTime: KEPT_MS,
});
