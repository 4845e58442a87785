#!/usr/bin/env bash
# An agent whose call waits for a person, on a server of its own. The agent is killed while it waits; the person approves while
# no agent is there; the next one goes on. It is killed again while the tool runs: the one after that does not run it twice.
#
#   ./try.sh                       the Vercel AI SDK; with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
#   ./try.sh langgraph             or openai-agents, or mastra
#
# Needs Node 20 and jq, and once a network: npm installs the packages that are missing. No model is called.
set -euo pipefail
program=${1:-vercel-ai}
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
cd "$(dirname "$0")"
work=$(mktemp -d)
export NO_COLOR=1

if ! node --input-type=module -e 'await import("ai"); await import("langchain"); await import("placet/resume")' 2>/dev/null; then
  echo "== installing"
  (cd ../../sdk/typescript && npm install --no-save --no-audit --no-fund >/dev/null && npm run build >/dev/null)
  npm install --no-save --no-audit --no-fund >/dev/null
fi

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
agent=
trap 'kill -9 $agent 2>/dev/null || true; kill "$server" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
bot=$("$placet" key new --role agent --name shop-bot --data "$work/data" 2>/dev/null)
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
mkdir "$work/shop"

start() { PLACET_TOKEN=$bot node "$program.mjs" "$work/shop" "$@" >"$work/said" 2>&1 & agent=$!; }
# Waits until the agent, or the world, says so; an agent that has ended says no more.
hears() { until grep -qs "$1" "$2"; do kill -0 "$agent" 2>/dev/null || grep -qs "$1" "$2" || { cat "$work/said" >&2; exit 1; }; sleep 0.1; done; }
killed() { kill -9 "$agent"; wait "$agent" 2>/dev/null || true; }
approve() {
  id=$(PLACET_TOKEN=$ann "$placet" --json inbox | jq -er '.items[0].id')
  PLACET_TOKEN=$ann "$placet" approve "$id" --yes
}

echo "== an agent asks for a refund, and is killed while it waits"
start order-1
hears working "$work/said"
killed
echo "== ann approves; no agent is there"
approve
echo "== the next agent goes on"
ONCE=1 start
wait "$agent"
cat "$work/said"

echo "== another refund; this time the agent is killed while the tool runs"
SLOW=600000 start order-2
hears working "$work/said"
approve
hears order-2 "$work/shop/effects"
killed
echo "== the next agent does not run it again"
ONCE=1 start
wait "$agent"
cat "$work/said"

echo "== what happened in the world"
cat "$work/shop/effects"
"$placet" ledger verify --data "$work/data"
