/** Errors of the API, and of the way to it. */

import type { Schemas } from "./types.js";

/** The machine-readable reason of an error. */
export type Code = Schemas["Code"];

/** What went wrong, and what to do about it. Branch on `code`. */
export class PensaError extends Error {
  override readonly name = "PensaError";
  readonly code: Code;
  readonly hint: string | undefined;
  /** The HTTP status, if the server answered. */
  readonly status: number | undefined;
  /** The key of the change: with it the same change can be tried again, and happens once. */
  readonly idempotencyKey: string | undefined;

  constructor(code: Code, message: string, more: ErrorDetails = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint ?? undefined;
    this.status = more.status;
    this.idempotencyKey = more.idempotencyKey;
  }
}

interface ErrorDetails {
  hint?: string | null | undefined;
  status?: number | undefined;
  idempotencyKey?: string | undefined;
  cause?: unknown;
}

/** The error in the body of an answer; undefined if the body is not Pensa's. */
export function errorInBody(status: number, text: string, idempotencyKey?: string): PensaError | undefined {
  try {
    const { error, code, hint } = JSON.parse(text) as Schemas["Error"];
    if (typeof error !== "string" || typeof code !== "string") return undefined;
    return new PensaError(code, error, { hint, status, idempotencyKey });
  } catch {
    return undefined;
  }
}
