#!/usr/bin/env bash
# Plays Claude Code in front of its hook, on a server of its own: a look passes, a deletion is edited by a reviewer and comes
# back as edited, the same approval is not good for a second run, and nothing passes once the server is gone.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
set -euo pipefail
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
work=$(mktemp -d)
export NO_COLOR=1 PLACET_STATE_DIR="$work/state"

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 --policy preset:coding-agent >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
PLACET_TOKEN=$("$placet" key new --role agent --name claude --data "$work/data" 2>/dev/null)
export PLACET_TOKEN
# A project, which is open to the agent.
app="$work/app" && mkdir "$app" && git -C "$app" init -q
"$placet" agent roots claude "$app" --data "$work/data" >/dev/null
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)

# What Claude Code writes to its hook before it runs a command.
call() {
  jq -n --arg id "$1" --arg command "$2" --arg cwd "$app" '{hook_event_name: "PreToolUse", session_id: "s-1", cwd: $cwd,
    permission_mode: "default", tool_name: "Bash", tool_input: {command: $command}, tool_use_id: $id}'
}

echo "== looking passes"
call toolu_1 'git status' | "$placet" hook claude-code

echo "== deleting waits for a person, who edits it"
call toolu_2 'rm -rf /srv' | "$placet" hook claude-code --wait 30s &
hook=$!
until id=$(PLACET_TOKEN=$ann "$placet" --json inbox | jq -er '.items[0].id'); do sleep 0.2; done
PLACET_TOKEN=$ann "$placet" edit "$id" --args '{"command":"rm -rf /srv/dist"}' --reason 'only the build' --yes
wait "$hook"

echo "== the same call again is blocked: an approval is for one run"
call toolu_2 'rm -rf /srv' | "$placet" hook claude-code --wait 30s && exit 1 || echo "exit code $?"

echo "== without a server nothing passes, not even looking"
kill "$server" && wait "$server" 2>/dev/null || true
call toolu_3 'git status' | "$placet" hook claude-code && exit 1 || echo "exit code $?"
