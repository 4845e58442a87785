/** Calls to the server: one place for the session's token, problems and retries. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "../../../sdk/typescript/src/api";
import type { Problem } from "./extra";
import { proved, provedRequest } from "./proof";

/** A refusal by the server, or no answer at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: Problem | null;
  readonly retryAfter: number | null;
  /** What the server answered, where it was JSON. */
  readonly body: unknown;

  constructor(
    status: number,
    problem: Problem | null,
    retryAfter: number | null = null,
    body: unknown = problem,
  ) {
    super(
      problem?.detail ?? (status === 0 ? "The server cannot be reached." : `The server answered ${status}.`),
    );
    this.name = "ApiError";
    this.status = status;
    this.code = problem?.code ?? (status === 0 ? "offline" : `http_${status}`);
    this.problem = problem;
    this.retryAfter = retryAfter;
    this.body = body;
  }
}

let csrf: string | null = null;
let lost: () => void = () => {};

/** Remembers the token that every changing call must carry. */
export function setCsrf(token: string | null): void {
  csrf = token;
}

/** Sets what happens when the session is over. */
export function onSignedOut(hook: () => void): void {
  lost = hook;
}

function unsafe(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

async function problemOf(response: Response): Promise<ApiError> {
  const retry = Number(response.headers.get("retry-after"));
  let problem: Problem | null = null;
  let body: unknown = null;
  try {
    body = await response.json();
    if (body && typeof body === "object" && "code" in body) problem = body as Problem;
  } catch {
    // Not a problem document: the status says enough.
  }
  return new ApiError(response.status, problem, Number.isFinite(retry) && retry > 0 ? retry : null, body);
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Do not sign: for signing in, when an old key may still be stored. */
  plain?: boolean;
}

/** Codes of the server for a missing or ended session. */
const NOBODY = ["unauthorized", "proof_needed", "proof_nonce"];

export function address(path: string, query?: CallOptions["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** One call, the raw response. Throws [`ApiError`] unless it succeeded. */
export async function send(path: string, options: CallOptions = {}): Promise<Response> {
  const method = options.method ?? "GET";
  const headers: Record<string, string> = { accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["content-type"] = "application/json";
  if (unsafe(method) && csrf) headers["placet-csrf"] = csrf;
  let response: Response;
  try {
    response = await (options.plain ? fetch : proved)(address(path, options.query), {
      method,
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      credentials: "same-origin",
      cache: "no-store",
      signal: options.signal,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  if (!response.ok) {
    const error = await problemOf(response);
    if (error.status === 401 && NOBODY.includes(error.code)) lost();
    throw error;
  }
  return response;
}

/** One call, its JSON. */
export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

const guard: Middleware = {
  onRequest({ request }) {
    if (unsafe(request.method) && csrf) request.headers.set("placet-csrf", csrf);
    return request;
  },
  async onResponse({ response }) {
    if (response.ok) return undefined;
    const error = await problemOf(response);
    if (error.status === 401 && NOBODY.includes(error.code)) lost();
    throw error;
  },
  onError() {
    return new ApiError(0, null);
  },
};

/** The typed client for everything in the API document. */
export const api = createClient<paths>({
  baseUrl: "",
  credentials: "same-origin",
  cache: "no-store",
  fetch: provedRequest,
});
api.use(guard);

/** A fresh key, so that a repeated send of the same decision counts once. */
export function idempotencyKey(): string {
  return crypto.randomUUID();
}
