/** Calls of the service. Every view goes through `call`, so that each failure is a sentence that says what to do. */
import { signal } from "@preact/signals";
import { sentence } from "./format";

export interface Problem {
  status: number;
  title?: string;
  detail: string;
  field?: string;
  line?: number;
  column?: number;
  hint?: string;
  caret?: string;
}

export class Failure extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
  get status(): number {
    return this.problem.status;
  }
}

export interface Session {
  tenant: string;
  scopes: string[];
  needs_token: boolean;
  name?: string;
  token?: string;
  expires?: string;
}

/** Undefined until the service said who we are; null if nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether the last call reached the service. */
export const reached = signal(true);

const ADVICE: Record<number, string> = {
  403: "Log in with a token that has this scope.",
  429: "A limit was reached. Wait a moment, or raise it in the server's options.",
  507: "Free some disk space; the service takes changes again by itself.",
};

/** Whether the client may make calls of a scope. */
export function may(...scopes: string[]): boolean {
  return scopes.some((one) => session.value?.scopes.includes(one));
}

export interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function answer(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { ...asked.headers };
  if (asked.body !== undefined) headers["Content-Type"] ??= "application/json";
  const body = asked.body === undefined || typeof asked.body === "string" ? asked.body : JSON.stringify(asked.body);
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body as string | undefined, signal: asked.signal });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    reached.value = false;
    throw new Failure({ status: 0, detail: "The service does not answer. Check that tocsin serve runs; the console tries again." });
  }
  reached.value = true;
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && path !== "/v1/session") session.value = null;
  throw new Failure(problem);
}

async function problemOf(response: Response): Promise<Problem> {
  let told: Partial<Problem> = {};
  try {
    told = await response.json();
  } catch {
    told = {};
  }
  const advice = ADVICE[response.status];
  const detail = told.detail ?? `The service answered ${response.status}.`;
  return { ...told, status: response.status, detail: advice ? `${sentence(detail)} ${advice}` : detail };
}

export async function call<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const response = await answer(method, path, asked);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, { signal });
export const post = <T>(path: string, body?: unknown, asked: Asked = {}) => call<T>("POST", path, { ...asked, body });

export function told(error: unknown): string {
  return error instanceof Failure ? sentence(error.message) : "Something failed in the console. Reload the page.";
}

export const part = encodeURIComponent;

const others = "BroadcastChannel" in window ? new BroadcastChannel("tocsin") : undefined;

export async function enter(): Promise<void> {
  try {
    session.value = await get<Session>("/v1/session");
  } catch (error) {
    if (error instanceof Failure && error.status === 401) session.value = null;
    else setTimeout(enter, 1500);
  }
}

export async function login(token: string): Promise<void> {
  session.value = await post<Session>("/v1/session", { token });
}

export async function logout(): Promise<void> {
  await call("DELETE", "/v1/session");
  session.value = null;
  others?.postMessage("logout");
}

others?.addEventListener("message", () => {
  session.value = null;
});
