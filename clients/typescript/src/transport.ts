/** Sends requests, again after a while if a connection is lost or the server is busy. */

import { PensaError, errorInBody } from "./errors.js";

/** Milliseconds before the second attempt, the third and so on. */
export const RETRY_DELAYS: readonly number[] = [200, 600, 1500];
/** Most of a `Retry-After` header that is honoured, in milliseconds. */
const MAX_RETRY_AFTER = 2000;

export interface HttpRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
}

export interface Transport {
  fetch: typeof fetch;
  /** Milliseconds for a call with all its attempts. */
  timeout: number;
  retryDelays: readonly number[];
}

/** What came of one attempt. */
type Attempt =
  | { kind: "answer"; value: unknown }
  | { kind: "error"; error: PensaError }
  /** Worth another attempt. `mayHaveApplied`: the server may have made the change. */
  | { kind: "temporary"; error: PensaError; wait: number; mayHaveApplied: boolean };

/** Sends a request until an attempt is final. A change has a key, so that the server makes it only once. */
export async function send(to: Transport, request: HttpRequest, signal?: AbortSignal): Promise<unknown> {
  const deadline = Date.now() + to.timeout;
  const key = request.headers["Idempotency-Key"];
  let mayHaveApplied = false;
  for (let attempt = 0; ; attempt++) {
    const result = await sendOnce(to, request, deadline, signal);
    if (result.kind === "answer") return result.value;
    if (result.kind === "error") throw result.error;
    mayHaveApplied ||= result.mayHaveApplied && key !== undefined;
    const delay = to.retryDelays[attempt];
    const wait = Math.max(delay ?? 0, result.wait);
    if (delay === undefined || Date.now() + wait >= deadline) {
      throw mayHaveApplied ? unknownOutcome(result.error, key) : result.error;
    }
    await sleep(wait, signal);
  }
}

async function sendOnce(to: Transport, request: HttpRequest, deadline: number, signal?: AbortSignal): Promise<Attempt> {
  const { method, url, headers, body } = request;
  const key = headers["Idempotency-Key"];
  const left = AbortSignal.timeout(Math.max(deadline - Date.now(), 1));
  let response: Response;
  let text: string;
  try {
    const ends = signal ? anyOf(signal, left) : left;
    // A redirect could take the token to another server.
    response = await to.fetch(url, { method, headers, body: body ?? null, signal: ends, redirect: "error" });
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    return { kind: "temporary", error: unreachable(url, cause), wait: 0, mayHaveApplied: wasSent(cause) };
  }
  if (response.ok) {
    try {
      return { kind: "answer", value: JSON.parse(text) };
    } catch {
      return { kind: "error", error: notPensa(url, response.status) };
    }
  }
  return refusal(url, response, text, key);
}

function refusal(url: string, response: Response, text: string, key: string | undefined): Attempt {
  const { status } = response;
  const error = errorInBody(status, text, key);
  const wait = Math.min(1000 * (Number(response.headers.get("Retry-After")) || 0), MAX_RETRY_AFTER);
  if (status === 429 || (error && isTemporary(error))) {
    return { kind: "temporary", error: error ?? notPensa(url, status), wait, mayHaveApplied: error?.code !== "busy" && status !== 429 };
  }
  if (!error && status >= 502 && status <= 504) {
    // A proxy before a server that it cannot reach.
    return { kind: "temporary", error: notPensa(url, status), wait, mayHaveApplied: true };
  }
  return { kind: "error", error: error ?? notPensa(url, status) };
}

/** A new idempotency key. It must be unique, not secret: `crypto` is missing in Node.js 18 and on pages without TLS. */
export function newKey(): string {
  const part = () => Math.random().toString(36).slice(2);
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${part()}-${part()}`;
}

/** Whether the same request may succeed a moment later. */
export function isTemporary({ code, status }: PensaError): boolean {
  return code === "busy" || code === "unreachable" || code === "unknown_outcome" || status === 429;
}

export function unreachable(url: string, cause: unknown): PensaError {
  const { origin } = new URL(url);
  const { message, cause: inner } = cause as Error;
  const reason = inner instanceof Error ? inner.message || ("code" in inner && String(inner.code)) : message;
  return new PensaError("unreachable", `cannot reach ${origin}: ${reason || message}`, {
    hint: "is it running? pn daemon starts one",
    cause,
  });
}

function notPensa(url: string, status: number): PensaError {
  const message = `${new URL(url).origin} does not answer like Pensa (HTTP ${status})`;
  return new PensaError("unreachable", message, { hint: "check the address", status });
}

function unknownOutcome(error: PensaError, idempotencyKey: string | undefined): PensaError {
  return new PensaError(error.code, `it is not known whether the change was made: ${error.message}`, {
    hint: "look, or try again with the same idempotency key",
    status: error.status,
    idempotencyKey,
    cause: error,
  });
}

/** Whether the server may have received the request. */
function wasSent(cause: unknown): boolean {
  const code = ((cause as Error).cause as { code?: unknown } | undefined)?.code;
  return code !== "ECONNREFUSED" && code !== "ENOTFOUND" && code !== "EHOSTUNREACH";
}

/** Aborts as soon as one of both does. `AbortSignal.any` is newer than the oldest supported runtime. */
export function anyOf(one: AbortSignal, other: AbortSignal): AbortSignal {
  const both = new AbortController();
  for (const signal of [one, other]) {
    if (signal.aborted) both.abort(signal.reason);
    signal.addEventListener("abort", () => both.abort(signal.reason), { once: true, signal: both.signal });
  }
  return both.signal;
}

/** Waits, or throws as soon as the signal aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
