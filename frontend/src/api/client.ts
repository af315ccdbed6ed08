/** One way to call the server: same origin, CSRF on writes, one error type with the sentence, code, problems and id of the wire. */
import type { ErrorBody, Problem } from "./types";

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly problems: Problem[];
  readonly details: Record<string, unknown>;

  constructor(status: number, code: string, message: string, requestId: string | null = null, problems: Problem[] = [], details: Record<string, unknown> = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.problems = problems;
    this.details = details;
  }
}

let csrfToken: string | null = null;
export const rememberCsrf = (token: string | null) => {
  csrfToken = token;
};

const TEAM = "proctor.team";
export const chosenTeam = () => sessionStorage.getItem(TEAM);
export const chooseTeam = (id: string) => sessionStorage.setItem(TEAM, id);

interface Call {
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is: text that must keep its digits, or a file. */
  raw?: BodyInit;
  type?: string;
  query?: Record<string, string | number | boolean | null | undefined>;
  signal?: AbortSignal | undefined;
  /** A write that does the same when sent twice: tried again like a read. */
  repeatable?: boolean;
}

export function address(path: string, query: Call["query"] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

function readHeaders(): Record<string, string> {
  const team = chosenTeam();
  return { Accept: "application/json", ...(team ? { "X-Team": team } : {}) };
}

/** Who writes; for requests that are not made with `fetch`, because it tells nothing of an upload's progress. */
export const writeHeaders = (): Record<string, string> => ({ ...readHeaders(), ...(csrfToken ? { "X-CSRFToken": csrfToken } : {}) });

async function send(path: string, call: Call): Promise<Response> {
  const method = call.method ?? "GET";
  const reads = method === "GET" || method === "HEAD";
  const headers = new Headers(reads ? readHeaders() : writeHeaders());
  if (call.body !== undefined) headers.set("Content-Type", "application/json");
  if (call.raw !== undefined) headers.set("Content-Type", call.type ?? "application/json");
  const body = call.raw ?? (call.body === undefined ? null : JSON.stringify(call.body));
  const response = await persist(() => fetch(address(path, call.query), { method, headers, body, credentials: "same-origin", signal: call.signal ?? null }), reads || call.repeatable ? TRIES : 1);
  if (!response.ok) throw await errorOf(response);
  return response;
}

const TRIES = 3;

/** Browsers drop requests when a network interface comes or goes, and a container that starts beside them is one: what can be sent twice is. */
async function persist(attempt: () => Promise<Response>, tries: number): Promise<Response> {
  try {
    return await attempt();
  } catch (reason) {
    if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
    if (tries <= 1) throw new ApiError(0, "offline", "The server did not answer. Check that it is running, then try again.");
    await new Promise((resolve) => setTimeout(resolve, 250));
    return persist(attempt, tries - 1);
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  return errorFrom(response.status, await response.json().catch(() => null));
}

export function errorFrom(status: number, given: unknown): ApiError {
  const body = given as Partial<ErrorBody> | null;
  const problems = (body?.error?.details?.["problems"] ?? []) as Problem[];
  const message = body?.error?.message ?? body?.detail ?? `The server answered ${status}.`;
  return new ApiError(status, body?.error?.code ?? "unknown", message, body?.error?.request_id ?? null, problems, body?.error?.details ?? {});
}

export async function api<T>(path: string, call: Call = {}): Promise<T> {
  const response = await send(path, call);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export async function apiText(path: string, call: Call = {}): Promise<string> {
  return (await send(path, call)).text();
}
