#!/usr/bin/env bash
# Plays payments through payments.toml on a server of its own: one passes, one is refused, one takes one person, one takes
# two of them in their own browsers; then asks what a looser policy would have done.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
work=$(mktemp -d)
export NO_COLOR=1

cp "$here/payments.toml" "$work/policy.toml"
"$placet" policy check "$work/policy.toml"

export PLACET_BOOTSTRAP_TOKEN=an-admin-credential-for-this-example-only
"$placet" serve --data "$work/data" --listen 127.0.0.1:0 --policy "$work/policy.toml" >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
export PLACET_URL
key() { "$placet" key new --data "$work/data" "$@" 2>/dev/null; }
agent=$(key --role agent --name billing-bot --owner dora)
ann=$(key --role reviewer --name ann)
bob=$(key --role reviewer --name bob)

team() { PLACET_TOKEN=$PLACET_BOOTSTRAP_TOKEN "$placet" person set "$1" --role reviewer --team "$2" >/dev/null; }
team ann finance
team bob board

ask() { PLACET_TOKEN=$agent "$placet" request --wait 0s "$@" || true; }
echo "--- policy alone answers these:"
ask --tool bank/balance --args '{}'
ask --tool bank/transfer --args '{"amount":10,"to":"elsewhere"}'

pay() { ask --json --tool bank/transfer --args "{\"amount\":$1,\"to\":\"DE02120300000000202051\"}" | sed -n 's/^  "id": "\(req_[^"]*\)",*$/\1/p'; }
echo "--- this one waits for finance:"
PLACET_TOKEN=$ann "$placet" approve "$(pay 3000)" | grep approved && echo "somebody of finance agreed, and it is approved"

echo "--- this one waits for finance and board, with a step-up: a key and a terminal cannot give that, so they say where"
id=$(pay 9000)
PLACET_TOKEN=$ann "$placet" policy explain "$id"
for who in "$ann" "$bob"; do
  if PLACET_TOKEN=$who "$placet" approve "$id"; then echo "a terminal gave a step-up" >&2; exit 1; fi
done
PLACET_TOKEN=$bob "$placet" deny "$id" --reason "not today" | grep denied && echo "a no needs no step-up"

echo "--- what would a looser policy have done?"
sed 's/above = 5000/above = 50000/' "$work/policy.toml" >"$work/looser.toml"
PLACET_TOKEN=$ann "$placet" policy simulate "$work/looser.toml"
