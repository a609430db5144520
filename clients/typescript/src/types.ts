/** Types of operations: what goes in, and what comes out. */

import type { routes } from "./operations.js";
import type { components, operations } from "./schema.js";

/** Types of the API by name, such as `Schemas["Issue"]`. */
export type Schemas = components["schemas"];

/** A line of the store's log. */
export type LogEntry = Schemas["LogEntry"];

/** The name of an operation, as in `pn batch`. */
export type OperationName = keyof typeof routes;

/** An operation without parameters or fields of some kind has `never` there, or an object without any. */
type Fields<T> = [T] extends [never] ? unknown : string extends keyof T ? unknown : T;

type Part<Name extends OperationName, Place extends string> = operations[Name] extends {
  parameters: { [place in Place]?: infer P };
}
  ? Fields<NonNullable<P>>
  : unknown;

type Body<Name extends OperationName> = operations[Name] extends {
  requestBody?: { content: { "application/json": infer B } };
}
  ? Fields<B>
  : unknown;

/** What an operation is asked, wherever it is in the request. */
export type Input<Name extends OperationName> = Part<Name, "path"> & Part<Name, "query"> & Body<Name>;

/** What an operation answers. */
export type Output<Name extends OperationName> = operations[Name]["responses"] extends
  | { 200: { content: { "application/json": infer O } } }
  | { 201: { content: { "application/json": infer O } } }
  ? O
  : never;

/** Options of one call. */
export interface CallOptions {
  /** Pass the same key when the same change is tried again later [default: a new one]. */
  idempotencyKey?: string;
  /** Who acts, instead of the client's actor. */
  actor?: string;
  /** Ends the call; a change that was sent may happen nevertheless. */
  signal?: AbortSignal;
}

/** Which events a stream has. */
export interface EventQuery {
  /** Events after this number; 0 is all [default: what happens from now on]. */
  after?: number;
  /** Only what is about this: an id, the beginning of one, or a kind such as `issue`. */
  subject?: string;
  /** Only these types, with commas between: `closed`, `issue.created`, `task.*`. */
  type?: string;
  /** Only what this actor did. */
  by?: string;
}
