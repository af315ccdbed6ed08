/** Every read of the page as query options: key, address, how long it counts as fresh. Writes live beside their buttons. */
import { queryOptions } from "@tanstack/react-query";
import { api, ApiError, apiText, rememberCsrf } from "./client";
import type {
  DiffPage,
  DiffRow,
  DiffTask,
  DraftOut,
  EnvironmentOut,
  EnvironmentVersionOut,
  JobOut,
  KeyOut,
  LastJobs,
  Me,
  ModelEndpointOut,
  Page,
  PageOf,
  RunRow,
  SessionOut,
  ShareOut,
  SharedTaskset,
  TagOut,
  TaskAppKeyOut,
  TaskAppOut,
  TaskHistoryRow,
  TaskOut,
  TaskResult,
  TaskRow,
  TasksetOut,
  VariableOut,
  VersionOut,
  WorkerOut,
} from "./types";

type Filter = Record<string, string | number | boolean | null | undefined>;
const part = encodeURIComponent;

/** A keyset listing; `useRows` reads it page by page. */
export interface Listing<T, P extends PageOf<T> = Page<T>> {
  key: readonly unknown[];
  read: (cursor: string | null, signal: AbortSignal) => Promise<P>;
}

function pages<T, P extends PageOf<T> = Page<T>>(key: readonly unknown[], path: string, filter: Filter = {}): Listing<T, P> {
  return { key: [...key, filter], read: (cursor, signal) => api<P>(path, { query: { ...filter, cursor }, signal }) };
}

/** What is not there, or not for this person, is null. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (reason) {
    if (reason instanceof ApiError && [403, 404, 410].includes(reason.status)) return null;
    throw reason;
  }
}

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async () => {
    const me = await api<Me>("/api/me");
    rememberCsrf(me.csrf_token);
    return me;
  },
  staleTime: 60_000,
  retry: false,
});

export const tasksetsQuery = (filter: Filter = {}) => pages<TasksetOut>(["tasksets", "list"], "/api/tasksets", filter);
export const tasksetQuery = (ref: string) => queryOptions({ queryKey: ["tasksets", "one", ref], queryFn: () => api<TasksetOut>(`/api/tasksets/${part(ref)}`) });
export const versionsQuery = (ref: string) => pages<VersionOut>(["tasksets", "versions", ref], `/api/tasksets/${part(ref)}/versions`, {});
export const versionQuery = (ref: string, number: number) =>
  queryOptions({ queryKey: ["tasksets", "version", ref, number], queryFn: () => api<VersionOut>(`/api/tasksets/${part(ref)}/versions/${number}`), staleTime: Infinity });
export const tagsQuery = (ref: string) => pages<TagOut>(["tasksets", "tags", ref], `/api/tasksets/${part(ref)}/tags`, { limit: 200 });
/** Versions never change, so neither does what differs between two numbers. */
export const diffQuery = (ref: string, from: string, to: string, filter: Filter = {}) =>
  pages<DiffRow, DiffPage>(["tasksets", "diff", ref, from, to], `/api/tasksets/${part(ref)}/diff`, { from, to, ...filter });
export const diffTaskQuery = (ref: string, from: string, to: string, slug: string) =>
  queryOptions({ queryKey: ["tasksets", "diff-task", ref, from, to, slug], queryFn: () => api<DiffTask>(`/api/tasksets/${part(ref)}/diff/task`, { query: { from, to, slug } }) });
export const taskHistoryQuery = (ref: string, slug: string) => pages<TaskHistoryRow>(["tasksets", "history", ref, slug], `/api/tasksets/${part(ref)}/tasks/history`, { slug, limit: 20 });
/** The person's own draft, null when there is none; `slug` reads that change alone, `limit` fewer of them. */
export const draftQuery = (ref: string, filter: { slug?: string; limit?: number } = {}) =>
  queryOptions({ queryKey: ["tasksets", "draft", ref, filter], queryFn: () => orNull(api<DraftOut>(`/api/tasksets/${part(ref)}/draft`, { query: filter })) });
export const tasksQuery = (ref: string, filter: Filter) => pages<TaskRow>(["tasksets", "tasks", ref], `/api/tasksets/${part(ref)}/tasks`, { limit: 200, ...filter });
export const taskQuery = (ref: string, slug: string) =>
  queryOptions({ queryKey: ["tasksets", "task", ref, slug], queryFn: () => api<TaskOut>(`/api/tasksets/${part(ref)}/tasks/${part(slug)}`) });

/** Runs of one task in all jobs on its set, newest first. */
export const resultsQuery = (ref: string, slug: string) => pages<TaskResult>(["tasksets", "results", ref, slug], `/api/tasksets/${part(ref)}/results`, { slug, limit: 200 });

export const jobsQuery = (filter: Filter = {}) => pages<JobOut>(["jobs", "list"], "/api/jobs", filter);
export const jobQuery = (id: string) => queryOptions({ queryKey: ["jobs", "one", id], queryFn: () => api<JobOut>(`/api/jobs/${id}`) });
export const jobRunsQuery = (id: string, filter: Filter) => pages<RunRow>(["jobs", "runs", id], `/api/jobs/${id}/runs`, filter);
export const logQuery = (id: string) => queryOptions({ queryKey: ["runs", "log", id], queryFn: () => apiText(`/api/runs/${id}/log`) });

export const environmentsQuery = () => pages<EnvironmentOut>(["environments", "list"], "/api/environments");
export const environmentQuery = (ref: string) =>
  queryOptions({ queryKey: ["environments", "one", ref], queryFn: () => api<EnvironmentOut>(`/api/environments/${part(ref)}`) });
export const environmentVersionsQuery = (ref: string) => pages<EnvironmentVersionOut>(["environments", "versions", ref], `/api/environments/${part(ref)}/versions`);
export const environmentVersionQuery = (ref: string, number: number) =>
  queryOptions({
    queryKey: ["environments", "version", ref, number],
    queryFn: () => api<EnvironmentVersionOut>(`/api/environments/${part(ref)}/versions/${number}`),
  });

export const variablesQuery = (ref: string) => pages<VariableOut>(["environments", "variables", ref], `/api/environments/${part(ref)}/variables`);
export const sessionsQuery = (ref: string) => pages<SessionOut>(["environments", "sessions", ref], `/api/environments/${part(ref)}/sessions`);

export const modelsQuery = () => pages<ModelEndpointOut>(["models"], "/api/models");
export const sharesQuery = () => pages<ShareOut>(["shares"], "/api/shares");
export const sharedQuery = (token: string) => queryOptions({ queryKey: ["shared", token], queryFn: () => api<SharedTaskset>(`/api/shared/${part(token)}`) });
export const sharedTasksQuery = (token: string, filter: Filter) => pages<TaskRow>(["shared", token, "tasks"], `/api/shared/${part(token)}/tasks`, { limit: 200, ...filter });
export const sharedTaskQuery = (token: string, slug: string) =>
  queryOptions({ queryKey: ["shared", token, "task", slug], queryFn: () => api<TaskOut>(`/api/shared/${part(token)}/tasks/${part(slug)}`) });
export const taskAppQuery = (ref: string) =>
  queryOptions({ queryKey: ["environments", "task-app", ref], queryFn: () => api<TaskAppOut>(`/api/task-apps/${part(ref)}`) });
export const taskAppKeysQuery = (taskset: string) => pages<TaskAppKeyOut>(["task-app-keys", taskset], `/api/tasksets/${part(taskset)}/task-app-keys`);
export const keysQuery = () => pages<KeyOut>(["keys"], "/api/keys");
export const lastJobsQuery = queryOptions({ queryKey: ["last-jobs"], queryFn: () => api<LastJobs>("/api/last-jobs"), staleTime: 10_000 });

export const workersQuery = queryOptions({ queryKey: ["workers"], queryFn: () => api<{ items: WorkerOut[] }>("/api/workers"), refetchInterval: 10_000 });
