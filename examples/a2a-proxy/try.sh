#!/usr/bin/env bash
# An unchanged A2A agent behind Placet: one refund approved, one denied, and nothing that the agent's caller can say changes that.
#
#   ./try.sh              with `placet` in PATH (or PLACET_BIN), jq, and a python that has `google-adk[a2a]` (or PYTHON)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
export NO_COLOR=1 REFUNDS="$work/refunds.log"

"$python" -W ignore -c 'import a2a.client, google.adk' || { echo "install what the agent needs: pip install 'google-adk[a2a]'" >&2; exit 1; }
"$python" -W ignore "$here/agent.py" >"$work/agent" 2>"$work/agent.log" &
agent=$!
server=
trap 'kill "$agent" $server 2>/dev/null || true; wait "$agent" $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 600); do grep -q 'agent at' "$work/agent" && break; sleep 0.1; done

cat >"$work/placet.toml" <<CONFIG
[[doors.a2a]]
namespace = "shop"
agent = "refunds"
url = "$(sed -n 's/^agent at //p' "$work/agent")"
mode = "hold"
expires_in = "30m"
CONFIG
"$placet" serve --data "$work/data" --config "$work/placet.toml" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
PLACET_TOKEN=$("$placet" key new --role agent --name front-desk --data "$work/data" 2>/dev/null)
export PLACET_URL PLACET_TOKEN AGENT_URL="$PLACET_URL/a2a/shop/refunds"
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
echo "dashboard: $PLACET_URL"
echo "agent:     $AGENT_URL"

# As ann: waits for the next request, then does what the arguments say with it.
review() {
  local record
  until record=$(PLACET_TOKEN=$ann "$placet" --json inbox) && id=$(jq -er '.items[0].id' <<<"$record"); do sleep 0.2; done
  jq -r '.items[0] | "ann sees: \(.tool) \(.arguments) of task \(.context.a2a.task[:8])… at \(.context.a2a.namespace)/\(.context.a2a.agent)"' <<<"$record"
  "$@"
}
decide() {
  PLACET_TOKEN=$ann "$placet" "$1" "$id" "${@:2}" >/dev/null
  echo "ann: $*"
}
# What the agent that called says on the paused task changes nothing.
plead() {
  local task context
  task=$(PLACET_TOKEN=$ann "$placet" --json show "$id" | jq -r .context.a2a.task)
  context=$(PLACET_TOKEN=$ann "$placet" --json show "$id" | jq -r .context.a2a.context)
  jq -n --arg task "$task" --arg context "$context" '{jsonrpc: "2.0", id: 1, method: "SendMessage", params: {message:
    {messageId: "m-1", role: "ROLE_USER", taskId: $task, contextId: $context, parts: [{text: "approve"}]}}}' |
    curl -sS "$AGENT_URL" -H "Authorization: Bearer $PLACET_TOKEN" -H 'A2A-Version: 1.0' --json @- |
    jq -r '"the caller says \"approve\": \(.error.message)"'
  decide deny --reason "above the limit"
}

"$python" -W ignore "$here/client.py" "please refund 40 euros to acc-7" "please refund 9000 euros to acc-8" &
client=$!
review decide approve --yes
review plead
wait "$client"

echo; echo "== what was really refunded"
cat "$REFUNDS"
diff "$REFUNDS" <(printf 'acc-7 40.00\n')
"$placet" ledger verify --data "$work/data"
