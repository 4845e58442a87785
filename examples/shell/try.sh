#!/usr/bin/env bash
# Plays both sides of gated.sh on a server of its own: asks, is edited by a reviewer, runs once, verifies the ledger.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
work=$(mktemp -d)
export NO_COLOR=1

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
agent=$("$placet" key new --role agent --name gated --data "$work/data" 2>/dev/null)
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)

cd "$work" && touch keep.log old.log
PLACET_TOKEN=$agent "$here/gated.sh" rm -v keep.log old.log &
gated=$!

export PLACET_TOKEN=$ann
until id=$("$placet" --json inbox | jq -er '.items[0].id'); do sleep 0.2; done
"$placet" show "$id"
"$placet" edit "$id" --args '{"argv":["rm","-v","old.log"]}' --reason 'keep.log stays' --yes
wait "$gated"
[ -e keep.log ] && [ ! -e old.log ] && echo "only what was approved is gone"
"$placet" ledger verify --data "$work/data"
