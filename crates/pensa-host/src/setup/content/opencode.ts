// pensa:file v1 {hash}
// Shows each session the text of `pn prime` once, and its work again when it is compacted. `pn setup opencode` wrote this.
import { spawn } from "node:child_process"

function hook(input: object, cwd: string): Promise<string> {
  return new Promise((done) => {
    const options = { cwd, timeout: 3000, stdio: ["pipe", "pipe", "ignore"] as ["pipe", "pipe", "ignore"] }
    const child = spawn("pn", ["hook", "SessionStart", "--agent", "opencode"], options)
    let answer = ""
    child.stdout.on("data", (data) => (answer += data))
    child.on("error", () => done(""))
    child.on("close", () => {
      try {
        done(JSON.parse(answer).context ?? "")
      } catch {
        done("")
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ ...input, cwd }))
  })
}

export const Pensa = async ({ directory }: { directory: string }) => {
  const texts = new Map<string, Promise<string>>()
  return {
    "experimental.chat.system.transform": async (input: { sessionID?: string }, output: { system: string[] }) => {
      const session = input.sessionID
      if (!session) return
      if (!texts.has(session)) texts.set(session, hook({ session_id: session, source: "startup" }, directory))
      const text = await texts.get(session)
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input: { sessionID: string }, output: { context: string[] }) => {
      const text = await hook({ session_id: input.sessionID, source: "compact" }, directory)
      if (text) output.context.push(text)
    },
  }
}
