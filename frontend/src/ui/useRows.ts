/** All loaded rows of a keyset listing as one list, with what a virtual table needs to load more. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { Listing } from "../api/queries";

export interface Rows<T> {
  rows: T[];
  total: number | null;
  more: (() => void) | undefined;
  loadingMore: boolean;
  loading: boolean;
  error: Error | null;
  retry: () => void;
}

export function useRows<T>(listing: Listing<T>, options: { enabled?: boolean; refetchInterval?: number | false } = {}): Rows<T> {
  const query = useInfiniteQuery({
    ...options,
    queryKey: listing.key,
    queryFn: ({ pageParam, signal }) => listing.read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = query;
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const next = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  return {
    rows,
    total: query.data?.pages[0]?.total ?? null,
    more: hasNextPage && !query.isError ? next : undefined,
    loadingMore: isFetchingNextPage,
    loading: query.isPending,
    error: query.error,
    retry: () => void refetch(),
  };
}
