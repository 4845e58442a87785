// Written by `placet hook install opencode`; taken out by `placet hook install opencode --uninstall`.
// Every tool call goes through Placet first. Whatever is not a clean yes throws, and OpenCode then does not run the tool.
import { spawn } from "node:child_process"

const COMMAND = "PLACET_COMMAND"
const PATIENCE = "PLACET_PATIENCE"

function hook(message) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    let out = ""
    let err = ""
    const timer = setTimeout(() => {
      child.kill()
      reject(new Error("Placet: the hook did not come to an end in time"))
    }, PATIENCE)
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.stdin.on("error", () => {})
    child.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`Placet: the hook could not run: ${error.message}`))
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve({ code, out, reason: err.trim() || "Placet: blocked" })
    })
    child.stdin.end(JSON.stringify(message))
  })
}

export const Placet = async ({ directory }) => ({
  // The configuration refuses every tool, for the case that this file cannot be loaded. It was: your own rules count.
  config: async (config) => {
    if (config.permission) delete config.permission["**"]
  },
  "tool.execute.before": async (input, output) => {
    const answer = await hook({
      hook_event_name: "tool.execute.before",
      session_id: input.sessionID,
      call_id: input.callID,
      tool_name: input.tool,
      tool_input: output.args ?? {},
      cwd: directory,
    })
    let said
    try {
      said = JSON.parse(answer.out)
    } catch {
      throw new Error(answer.reason)
    }
    if (answer.code !== 0 || said === null || said.decision !== "allow") {
      throw new Error(said?.reason || answer.reason)
    }
    if (said.args !== undefined) {
      // Approved with changes: exactly these arguments, not the old ones with some of them laid over.
      if (typeof output.args !== "object" || output.args === null) {
        output.args = said.args
      } else {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, said.args)
      }
    }
  },
  "tool.execute.after": async (input) => {
    try {
      await hook({
        hook_event_name: "tool.execute.after",
        session_id: input.sessionID,
        call_id: input.callID,
        tool_name: input.tool,
        tool_input: {},
      })
    } catch {
      // Only the report is lost.
    }
  },
})
