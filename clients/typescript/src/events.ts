/** Follows the event stream and reconnects, without leaving out an event or repeating one. */

import { PensaError, errorInBody } from "./errors.js";
import { isTemporary, sleep, unreachable } from "./transport.js";
import type { LogEntry } from "./types.js";

/** Milliseconds that a server which answered before may stay away. */
export const OUTAGE_LIMIT = 60_000;
/** Milliseconds in which the first connection must succeed. */
const CONNECT_LIMIT = 3_000;
/** Milliseconds of silence after which the connection counts as lost; a server sends comments more often. */
const SILENCE_LIMIT = 45_000;
/** Milliseconds between two connections, unless the server says otherwise. */
const RECONNECT_DELAY = 1_000;

export interface EventStream {
  fetch: typeof fetch;
  url: string;
  headers: Record<string, string>;
  outageLimit: number;
  signal: AbortSignal | undefined;
}

/** One block of the stream. */
interface Frame {
  id?: string;
  event?: string;
  data?: string;
  retry?: number;
  comment?: string;
}

/** Where a reader is in the log. */
interface Position {
  /** The number of the last event that was read or passed over. */
  last: string | undefined;
  delay: number;
  /** When the server was last heard of. */
  heard: number | undefined;
}

export async function* follow(stream: EventStream): AsyncGenerator<LogEntry, void, undefined> {
  const at: Position = { last: undefined, delay: RECONNECT_DELAY, heard: undefined };
  let lost = Date.now();
  for (;;) {
    try {
      yield* connection(stream, at);
      lost = at.heard ?? lost;
    } catch (error) {
      if (!(error instanceof PensaError) || !isTemporary(error)) throw error;
      lost = at.heard ?? lost;
      const limit = at.heard === undefined ? CONNECT_LIMIT : stream.outageLimit;
      if (Date.now() - lost > limit) throw error;
    }
    await sleep(at.delay, stream.signal);
  }
}

/** The events of one connection, until it ends. */
async function* connection(stream: EventStream, at: Position): AsyncGenerator<LogEntry, void, undefined> {
  const ends = new AbortController();
  const abort = () => ends.abort(stream.signal?.reason);
  stream.signal?.throwIfAborted();
  stream.signal?.addEventListener("abort", abort, { once: true });
  const watchdog = () => setTimeout(() => ends.abort(new Error("the stream is silent")), SILENCE_LIMIT);
  let timer = watchdog();
  try {
    const headers = at.last === undefined ? stream.headers : { ...stream.headers, "Last-Event-ID": at.last };
    const response = await stream.fetch(stream.url, { headers, signal: ends.signal, redirect: "error" });
    if (!response.ok || !response.body) {
      throw errorInBody(response.status, await response.text()) ?? unexpected(stream.url, response.status);
    }
    const heard = () => {
      at.heard = Date.now();
      clearTimeout(timer);
      timer = watchdog();
    };
    for await (const frame of frames(response.body, heard)) {
      const event = take(frame, at);
      if (event) yield event;
    }
  } catch (error) {
    stream.signal?.throwIfAborted();
    throw error instanceof PensaError ? error : unreachable(stream.url, error);
  } finally {
    clearTimeout(timer);
    stream.signal?.removeEventListener("abort", abort);
    ends.abort();
  }
}

/** Moves the position. Returns the event, if the frame has one; throws the error with which a server ends a stream. */
function take(frame: Frame, at: Position): LogEntry | undefined {
  at.delay = frame.retry ?? at.delay;
  // The server's first line says where a stream begins that was asked for without a number.
  at.last = frame.id ?? at.last ?? /^events after (\d+)/.exec(frame.comment ?? "")?.[1];
  if (frame.data === undefined) return undefined;
  if (frame.event !== "dropped") return JSON.parse(frame.data) as LogEntry;
  const error = errorInBody(200, frame.data);
  if (error?.code === "conflict") throw error;
  throw new PensaError("unreachable", error?.message ?? "the server ended the stream", { hint: error?.hint });
}

async function* frames(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Frame, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let frame: Frame = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((line) => line.replace(/\r$/, ""))) {
      if (line !== "") {
        addLine(frame, line);
        continue;
      }
      yield frame;
      frame = {};
    }
  }
}

function addLine(frame: Frame, line: string): void {
  const colon = line.indexOf(":");
  const [name, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
  if (name === "") frame.comment ??= value;
  if (name === "id") frame.id = value;
  if (name === "event") frame.event = value;
  if (name === "data") frame.data = frame.data === undefined ? value : `${frame.data}\n${value}`;
  if (name === "retry" && /^\d+$/.test(value)) frame.retry = Number(value);
}

function unexpected(url: string, status: number): PensaError {
  const code = status === 429 || (status >= 502 && status <= 504) ? "unreachable" : "unsupported";
  return new PensaError(code, `${new URL(url).origin} does not stream events like Pensa (HTTP ${status})`, { status });
}
