#!/usr/bin/env bash
# LangGraph agents on a server of their own, offline: a refund whose run ends while a person decides and edits, and a graph
# written for Agent Inbox, served as it is and denied.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
#
# Needs Python with langchain, langgraph-checkpoint-sqlite and sdk/python; PYTHON names the interpreter.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
cd "$work"
export NO_COLOR=1

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
PLACET_TOKEN=$("$placet" key new --role agent --name desk --data "$work/data" 2>/dev/null)
export PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
as_ann() { PLACET_TOKEN=$ann "$placet" "$@"; }

echo "== carol wants 500 back; the run ends, and nothing waits"
id=$("$python" "$here/desk.py" carol "my money back, please" | sed -n 's/^paused: //p')
echo "   ann gives 50"
as_ann edit "$id" --args '{"customer":"carol","amount":50}' --yes >/dev/null
echo "   another process goes on with the thread"
"$python" "$here/desk.py" carol

echo "== a graph written for Agent Inbox asks, and ann says no"
"$python" "$here/inbox.py" &
graph=$!
until id=$(as_ann --json inbox | "$python" -c 'import json,sys; print(json.load(sys.stdin)["items"][0]["id"])' 2>/dev/null); do
    kill -0 "$graph" 2>/dev/null || { echo "the graph ended before it asked" >&2; exit 1; }
    sleep 0.2
done
as_ann deny "$id" --reason "not on a Friday" >/dev/null
wait "$graph"

"$placet" ledger verify --data "$work/data"
