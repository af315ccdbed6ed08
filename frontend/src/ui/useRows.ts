/** All loaded rows of a keyset listing as one list, with what a virtual table needs to load more. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { Listing } from "../api/queries";
import type { Page, PageOf } from "../api/types";

export interface Rows<T, P = unknown> {
  rows: T[];
  /** The first page whole, for what it says of the listing. */
  first: P | undefined;
  total: number | null;
  more: (() => void) | undefined;
  loadingMore: boolean;
  loading: boolean;
  error: Error | null;
  retry: () => void;
}

export function useRows<T, P extends PageOf<T> = Page<T>>(listing: Listing<T, P>, options: { enabled?: boolean; refetchInterval?: number | false } = {}): Rows<T, P> {
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
    first: query.data?.pages[0],
    total: query.data?.pages[0]?.total ?? null,
    more: hasNextPage && !query.isError ? next : undefined,
    loadingMore: isFetchingNextPage,
    loading: query.isPending,
    error: query.error,
    retry: () => void refetch(),
  };
}
