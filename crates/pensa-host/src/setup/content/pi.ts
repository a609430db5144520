// pensa:file v1 {hash}
// Shows each session the text of `pn prime` once, and its work again after it was compacted. `pn setup pi` wrote this.
import { spawn } from "node:child_process"

function hook(input: object, cwd: string): Promise<string> {
  return new Promise((done) => {
    const options = { cwd, timeout: 3000, stdio: ["pipe", "pipe", "ignore"] as ["pipe", "pipe", "ignore"] }
    const child = spawn("pn", ["hook", "SessionStart", "--agent", "pi"], options)
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

export default function (pi: any) {
  let source: string | undefined = "startup"
  pi.on("session_start", () => {
    source = "startup"
  })
  pi.on("session_compact", () => {
    source = "compact"
  })
  pi.on("before_agent_start", async (_event: unknown, ctx: any) => {
    if (!source) return
    const input = { session_id: ctx.sessionManager?.getSessionId?.(), source }
    source = undefined
    const text = await hook(input, ctx.cwd)
    if (text) return { message: { customType: "pensa", content: text, display: false } }
  })
}
