/** Runs `pn daemon` and `pn serve` for tests. The variable PN names the program. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = process.env["PN"] ?? "pn";

/** Runs `pn` in a directory. Returns what it prints. */
export function pn(directory: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: directory, encoding: "utf8" });
}

/** A server process on a directory of its own. */
export class Daemon {
  readonly directory = mkdtempSync(join(tmpdir(), "pensa-client-"));
  #process: ChildProcess | undefined;
  #port = "0";

  /** A daemon on a new project. */
  static async start(): Promise<Daemon> {
    const daemon = new Daemon();
    pn(daemon.directory, "init", "--quiet", "--no-hooks");
    await daemon.resume();
    return daemon;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return Number(this.#port);
  }

  /** Starts it, on the same port as before. */
  async resume(args = ["daemon", "--project-dir", this.directory, "--port", this.#port]): Promise<void> {
    const child = spawn(program, [...args, "--json"], {
      cwd: this.directory,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    this.#port = new URL((JSON.parse(line) as { url: string }).url).port;
  }

  async pause(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    child.kill("SIGTERM");
    await once(child, "exit");
  }

  async stop(): Promise<void> {
    await this.pause();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** An address at which nothing listens. */
export async function unusedUrl(): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

/** Passes connections on to a daemon, and loses as many answers as it is told to. */
export class LossyProxy {
  answersToLose = 0;
  requests = 0;
  readonly #server: Server;

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const daemon = connect(port, "127.0.0.1");
      client.on("data", (data) => {
        this.requests += 1;
        // The daemon answers to its own name only.
        daemon.write(data.toString("latin1").replace(/^host: .*$/im, `host: 127.0.0.1:${port}`), "latin1");
      });
      daemon.on("data", (data) => {
        if (this.answersToLose > 0) {
          this.answersToLose -= 1;
          client.destroy();
        } else {
          client.write(data);
        }
      });
      client.on("error", () => daemon.destroy()).on("close", () => daemon.destroy());
      daemon.on("error", () => client.destroy()).on("close", () => client.destroy());
    });
  }

  static async before(daemon: Daemon): Promise<LossyProxy> {
    const proxy = new LossyProxy(daemon.port);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
  }
}
