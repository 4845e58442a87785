#!/usr/bin/env bash
# A TypeScript agent and its reviewer on a server of their own: one call edited, one denied, one question answered.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sdk=$(realpath "$here/../../sdk/typescript")
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
[ -e "$sdk/dist/index.js" ] || { echo "build the package first: cd sdk/typescript && npm install --no-save && npm run build" >&2; exit 1; }
work=$(mktemp -d)
export NO_COLOR=1

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
agent=$("$placet" key new --role agent --name cleaner --data "$work/data" 2>/dev/null)
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)

# A project that has the package installed.
mkdir -p "$work/project/node_modules" "$work/files"
ln -s "$sdk" "$work/project/node_modules/placet"
cp "$here/agent.mjs" "$work/project/"
touch "$work/files/keep.log" "$work/files/old.log"
PLACET_TOKEN=$agent node "$work/project/agent.mjs" "$work/files" &
running=$!

export PLACET_TOKEN=$ann
pending() { until id=$("$placet" --json inbox | jq -er '.items[0].id'); do kill -0 "$running"; sleep 0.1; done; }
pending
"$placet" edit "$id" --args '{"files":["old.log"]}' --reason 'keep.log stays' --yes
pending
"$placet" deny "$id" --reason 'ask accounting'
pending
"$placet" answer "$id" no
wait "$running"
[ -e "$work/files/keep.log" ] && [ ! -e "$work/files/old.log" ] && echo "only what was approved is gone"
