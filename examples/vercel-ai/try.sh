#!/usr/bin/env bash
# An agent of the Vercel AI SDK on a server of its own, with a reviewer: looking passes, a refund of ten times too much is
# edited and runs as edited, a deletion is denied and never runs. No model is called; leaves nothing behind.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
#
# Needs Node 20 and jq, and once a network: npm installs the packages that are missing.
set -euo pipefail
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
cd "$(dirname "$0")"
work=$(mktemp -d)
export NO_COLOR=1

if ! node --input-type=module -e 'await import("ai"); await import("zod"); await import("placet/ai")' 2>/dev/null; then
  echo "== installing"
  (cd ../../sdk/typescript && npm install --no-save --no-audit --no-fund >/dev/null && npm run build >/dev/null)
  npm install --no-save --no-audit --no-fund >/dev/null
fi

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 --policy policy.toml >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
bot=$("$placet" key new --role agent --name shop-bot --data "$work/data" 2>/dev/null)
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)

echo "== the agent starts"
PLACET_TOKEN=$bot node agent.mjs >"$work/agent" 2>&1 &
agent=$!

# The one request that waits for a person and is about this tool.
pending() {
  for _ in $(seq 150); do
    PLACET_TOKEN=$ann "$placet" --json inbox | jq -er --arg tool "$1" '.items[] | select(.tool == $tool) | .id' && return
    sleep 0.2
  done
  cat "$work/agent" >&2
  return 1
}

echo "== ann sees a refund of 1200 for an order of 120, and edits it"
id=$(pending refund)
PLACET_TOKEN=$ann "$placet" edit "$id" --args '{"order":"o-1","amount":120}' --reason 'they paid 120' --yes

echo "== ann denies the deletion"
id=$(pending delete_customer)
PLACET_TOKEN=$ann "$placet" deny "$id" --reason 'customers are never deleted'

echo "== what the agent did, and what it was told"
wait "$agent"
cat "$work/agent"

echo "== the record"
PLACET_TOKEN=$ann curl --silent --fail "$PLACET_URL/v1/requests" --header "Authorization: Bearer $ann" |
  jq -r '.items | reverse | .[] | "   \(.tool) \(.decision.arguments // .arguments | tojson) \(.state)"'
"$placet" ledger verify --data "$work/data"
