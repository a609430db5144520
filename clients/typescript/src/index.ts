/** Client of Pensa, the state of coding agents, over HTTP. */

export { Pensa, type PensaOptions } from "./client.js";
export { PensaError, type Code } from "./errors.js";
export type { CallOptions, EventQuery, Input, LogEntry, OperationName, Output, Schemas } from "./types.js";
