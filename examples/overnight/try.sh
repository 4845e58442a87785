#!/usr/bin/env bash
# Agents that are killed while a person decides, and go on in another process, on a server of their own, offline.
#
#   ./try.sh langgraph        or openai_agents, or pydantic_ai; with `placet` in PATH, or PLACET_BIN=target/debug/placet
#
# Needs Python with the framework and sdk/python (for langgraph also langgraph-checkpoint-sqlite); PYTHON names it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
framework=${1:-langgraph}
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
cp "$here/${framework}_desk.py" "$work"
cd "$work"
export NO_COLOR=1 OPENAI_AGENTS_DISABLE_TRACING=1

# Short, so that nobody waits an hour here for the outcome of a call whose process was killed.
"$placet" serve --data "$work/data" --listen 127.0.0.1:0 --set requests.report_window=2s >"$work/url" 2>"$work/log" &
server=$!
resumer=
trap 'kill "$server" $resumer 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
PLACET_TOKEN=$("$placet" key new --role agent --name desk --data "$work/data" 2>/dev/null)
export PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
as_ann() { PLACET_TOKEN=$ann "$placet" "$@"; }

wait_for() { # a word in a file
    for _ in $(seq 600); do grep -q "$1" "$2" 2>/dev/null && return; sleep 0.1; done
    echo "no \`$1\` in $2:" >&2; cat "$2" >&2; exit 1
}
request_of() { # the customer
    as_ann --json inbox | "$python" -c '
import json, sys
print(*[one["id"] for one in json.load(sys.stdin)["items"] if one["arguments"]["customer"] == sys.argv[1]])' "$1"
}
start_resumer() {
    "$python" -m placet.resume "${framework}_desk:desk" >"resumer-$1.out" 2>"resumer-$1.log" &
    resumer=$!
}

echo "== carol wants 500 back, dave 400 and erin 1000; the agent asks, and is killed"
"$python" "${framework}_desk.py" carol=500 dave=400 erin=1000 >agent.out 2>&1 &
agent=$!
wait_for paused agent.out
kill -9 "$agent"
wait "$agent" 2>/dev/null || true

echo "== ann gives carol 50, hours later; then a resumer is started"
as_ann edit "$(request_of carol)" --args '{"customer":"carol","amount":50}' --yes >/dev/null
start_resumer 1
wait_for "the model was told" resumer-1.out
cat resumer-1.out

echo "== ann says no to dave, while the resumer listens"
as_ann deny "$(request_of dave)" --reason "ask again on Monday" >/dev/null
wait_for "on Monday" resumer-1.out
grep "on Monday" resumer-1.out | head -1

echo "== ann says yes to erin, and the resumer is killed while it pays"
as_ann approve "$(request_of erin)" --yes >/dev/null
wait_for "1000 paid back" resumer-1.out
kill -9 "$resumer"
wait "$resumer" 2>/dev/null || true
start_resumer 2
wait_for "not run again" resumer-2.out
cat resumer-2.out
if grep -q "paid back to" resumer-2.out; then echo "it was paid twice" >&2; exit 1; fi
kill "$resumer"
wait "$resumer"

"$placet" ledger verify --data "$work/data"
