/** The client: every operation as a method, and the event stream. */

import { PensaError } from "./errors.js";
import { OUTAGE_LIMIT, follow } from "./events.js";
import { Operations, routes } from "./operations.js";
import { RETRY_DELAYS, newKey, send, type Transport } from "./transport.js";
import type { CallOptions, EventQuery, Input, LogEntry, OperationName, Output } from "./types.js";

export interface PensaOptions {
  /** Address of a daemon or server [default: `PN_DAEMON`, then `http://127.0.0.1:7533`]. */
  url?: string;
  /** A project on a team server, reached below `/p/{project}`. */
  project?: string;
  /** Bearer token [default: `PN_TOKEN`]. */
  token?: string;
  /** Who acts [default: `PN_ACTOR`, then `unknown`]. */
  actor?: string;
  /** The caller's session: a claim made in a session is changed by that session only [default: `PN_SESSION`]. */
  session?: string;
  /** The run that the caller is a part of [default: `PN_RUN`]. */
  run?: string;
  /** The machine that is shown with claims. */
  host?: string;
  /** The id of the store that is expected; another one is refused with `wrong_store`. */
  storeId?: string;
  /** Store secrets that are found in texts instead of replacing them [default: false]. */
  keepSecrets?: boolean;
  /** Milliseconds for a call with all its attempts [default: 120,000]. */
  timeout?: number;
  /** Milliseconds before the second attempt, the third and so on [default: 200, 600, 1500]. */
  retryDelays?: readonly number[];
  /** Milliseconds that the server of an event stream may stay away [default: 60,000]. */
  outageLimit?: number;
  /** Sends the requests [default: the global `fetch`]. */
  fetch?: typeof fetch;
}

/** A store behind a daemon or server. */
export class Pensa extends Operations {
  /** Address of the store, without a slash at the end. */
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #changeHeaders: Record<string, string>;
  readonly #transport: Transport;
  readonly #outageLimit: number;

  constructor(options: PensaOptions = {}) {
    super();
    this.url = address(options);
    const token = options.token ?? variable("PN_TOKEN");
    this.#headers = present({
      "Pensa-Actor": encoded(options.actor ?? variable("PN_ACTOR")),
      "Pensa-Store": options.storeId,
      Authorization: token && `Bearer ${token}`,
    });
    this.#changeHeaders = present({
      "Pensa-Session": encoded(options.session ?? variable("PN_SESSION")),
      "Pensa-Run": encoded(options.run ?? variable("PN_RUN")),
      "Pensa-Host": encoded(options.host),
      "Pensa-Redact": options.keepSecrets ? "off" : undefined,
    });
    this.#transport = {
      fetch: options.fetch ?? ((...request) => fetch(...request)),
      timeout: options.timeout ?? 120_000,
      retryDelays: options.retryDelays ?? RETRY_DELAYS,
    };
    this.#outageLimit = options.outageLimit ?? OUTAGE_LIMIT;
  }

  /** Runs an operation by its name, as the methods do. */
  override async call<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    options: CallOptions = {},
  ): Promise<Output<Name>> {
    const [method, route] = routes[name];
    const fields = new Map(Object.entries(input as object).filter(([, value]) => value !== undefined));
    const path = route.replace(/\{(\w+)\}/g, (_, field: string) => {
      const value = fields.get(field);
      fields.delete(field);
      return segment(field, value);
    });
    const headers = { ...this.#headers };
    if (options.actor !== undefined) headers["Pensa-Actor"] = encodeURIComponent(options.actor);
    if (method !== "GET") {
      Object.assign(headers, this.#changeHeaders);
      headers["Idempotency-Key"] = options.idempotencyKey ?? newKey();
    }
    const inQuery = method === "GET" || method === "DELETE";
    if (!inQuery) headers["Content-Type"] = "application/json";
    const url = `${this.url}${path}${inQuery ? query(fields) : ""}`;
    const body = inQuery ? undefined : JSON.stringify(Object.fromEntries(fields));
    return (await send(this.#transport, { method, url, headers, body }, options.signal)) as Output<Name>;
  }

  /**
   * Follows the log: events after a number first, then each new one when it happens.
   *
   * Reconnects by itself and continues after the last event, so that none is left out and none comes twice. Ends when
   * the loop is left. Throws the signal's reason when it aborts, `conflict` if the log was replaced, and `unreachable`
   * if the server stays away.
   */
  events(query_: EventQuery = {}, options: Pick<CallOptions, "signal"> = {}): AsyncGenerator<LogEntry, void, undefined> {
    const { fetch } = this.#transport;
    const url = `${this.url}/events${query(new Map(Object.entries(query_)))}`;
    const headers = { ...this.#headers, Accept: "text/event-stream" };
    return follow({ fetch, url, headers, outageLimit: this.#outageLimit, signal: options.signal });
  }
}

function address({ url = variable("PN_DAEMON") || "http://127.0.0.1:7533", project }: PensaOptions): string {
  const plain = url.replace(/\/+$/, "");
  if (!/^https?:\/\/[^@?#\s]+$/.test(plain)) {
    throw new PensaError("invalid_input", "not the address of a server", { hint: "such as http://127.0.0.1:7533" });
  }
  return project === undefined ? plain : `${plain}/p/${encodeURIComponent(project)}`;
}

/** A variable of the environment; undefined in browsers, and if it is empty. */
function variable(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name] || undefined;
}

function encoded(text: string | undefined): string | undefined {
  return text === undefined ? undefined : encodeURIComponent(text);
}

function present(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => !!pair[1]));
}

/** Encodes a value of the path. A plain word could be mistaken for a route such as `/issues/ready`. */
function segment(field: string, value: unknown): string {
  if (typeof value !== "string" || ["", ".", ".."].includes(value)) {
    throw new PensaError("invalid_input", `${field} is missing, or nothing that can be in a path`);
  }
  const first = /^[a-z]+$/.test(value) ? `%${value.charCodeAt(0).toString(16).toUpperCase()}` : undefined;
  return first === undefined ? encodeURIComponent(value) : first + value.slice(1);
}

function query(fields: Map<string, unknown>): string {
  const pairs = [...fields].flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map((one) => `${name}=${encodeURIComponent(String(one))}`),
  );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}
