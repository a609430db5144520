/** Keeps conversations of the OpenAI Agents SDK in Pensa, as an agent's session. */

import type { AgentInputItem, Session } from "@openai/agents-core";

import { PensaError } from "./errors.js";
import { Pensa } from "./client.js";
import { newKey } from "./transport.js";
import type { Schemas } from "./types.js";

/** The type of the entry that takes an earlier one back; history itself is never rewritten. */
const POPPED = "item_popped";
/** Types of entries for items without a role that Pensa knows. */
const ENTRY_TYPES: Record<string, string> = { user: "user_message", assistant: "assistant_message" };

export interface PensaSessionOptions {
  client?: Pensa;
  /** Replace secrets that are found in items before they are stored [default: true]. */
  redact?: boolean;
}

/**
 * A conversation. Its id is the name of an agent, which is made with the first item; `pn session history NAME` shows
 * it. Clearing it opens the agent's next session and keeps the history of the last.
 */
export class PensaSession implements Session {
  readonly #sessionId: string;
  readonly #client: Pensa;
  readonly #redact: boolean;
  #agent: string | undefined;

  constructor(sessionId: string, options: PensaSessionOptions = {}) {
    if (sessionId === "") throw new PensaError("invalid_input", "the id of a conversation is empty");
    this.#sessionId = sessionId;
    this.#client = options.client ?? new Pensa();
    this.#redact = options.redact ?? true;
  }

  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /** The items, oldest first; with a limit the last ones. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const items = (await this.#items()).map(({ entry }) => entry.data as unknown as AgentInputItem);
    return limit === undefined ? items : items.slice(Math.max(items.length - limit, 0));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const id = (await this.#findAgent()) ?? (await this.#createAgent());
    const entries = items.map((item) => ({
      type: ENTRY_TYPES["role" in item ? item.role : ""] ?? "item",
      data: item as unknown as Record<string, unknown>,
    }));
    await this.#client.sessionAppend({ id, entries, no_redact: !this.#redact });
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const last = (await this.#items()).at(-1);
      if (!last || this.#agent === undefined) return undefined;
      const { index, entry } = last;
      const entries = [{ type: POPPED, data: { index, by: newKey() } }];
      try {
        // Two that pop the same item at once use one key with different requests, of which only the first succeeds.
        const idempotencyKey = `pop-${entry.session_id}-${index}`;
        await this.#client.sessionAppend({ id: this.#agent, entries }, { idempotencyKey });
        return entry.data as unknown as AgentInputItem;
      } catch (error) {
        if (!(error instanceof PensaError) || error.code !== "conflict") throw error;
      }
    }
  }

  async clearSession(): Promise<void> {
    const id = await this.#findAgent();
    if (id !== undefined) await this.#client.sessionReset({ id });
  }

  /** The items of the active session that were not popped, each with its place among all entries of the session. */
  async #items(): Promise<{ index: number; entry: Schemas["Entry"] }[]> {
    const id = await this.#findAgent();
    if (id === undefined) return [];
    const entries: Schemas["Entry"][] = [];
    for (;;) {
      const after = entries.at(-1)?.id;
      const part = await this.#client.sessionHistory(after === undefined ? { id } : { id, after });
      if (part.length === 0) break;
      entries.push(...part);
    }
    const popped = new Set(entries.filter(({ type }) => type === POPPED).map(({ data }) => data["index"]));
    const items = entries.map((entry, index) => ({ index, entry }));
    return items.filter(({ index, entry }) => entry.type !== POPPED && !popped.has(index));
  }

  async #findAgent(): Promise<string | undefined> {
    if (this.#agent !== undefined) return this.#agent;
    try {
      const agent = await this.#client.agentShow({ id: this.#name });
      // A name that no agent has may still be the beginning of an id.
      if (agent.name === this.#name) this.#agent = agent.id;
    } catch (error) {
      if (!(error instanceof PensaError) || error.code !== "not_found") throw error;
    }
    return this.#agent;
  }

  /** Two that begin the same conversation at once use one key, and get one agent. */
  async #createAgent(): Promise<string> {
    const create = (options?: { idempotencyKey: string }) =>
      this.#client.agentCreate({ type: "app", name: this.#name }, options);
    let { id } = await create({ idempotencyKey: `openai-agents-${encodeURIComponent(this.#name).slice(0, 200)}` });
    // The key is remembered for a day, also if the agent was deleted since.
    if ((await this.#findAgent()) === undefined) ({ id } = await create());
    this.#agent = id;
    return id;
  }

  /** Names of agents in a path have no blanks. */
  get #name(): string {
    return this.#sessionId.replace(/[\s\p{Cc}%]/gu, encodeURIComponent);
  }
}
