#!/usr/bin/env bash
# The credit agent whose supervisor takes hours: no process waits, and those that go on are killed in the middle.
#
#   ./later.sh            with `placet` in PATH (or PLACET_BIN), and a python that has `placet[adk]` and aiosqlite (or PYTHON)
set -euo pipefail
cd "$(dirname "$0")"
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
export NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1 CREDITS="$work/credits.log" SESSIONS="$work/sessions.db"
touch "$CREDITS"

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
resumer=
trap 'kill -9 $resumer 2>/dev/null || true; kill "$server" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
PLACET_TOKEN=$("$placet" key new --role agent --name credit-agent --data "$work/data" 2>/dev/null)
export PLACET_URL PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)

ask() { "$python" -W ignore later.py "$@" 2>>"$work/log"; }
resume() { "$python" -W ignore -m placet.resume later:runner >>"$work/resumer" 2>&1 & resumer=$!; }
killed() { kill -9 "$resumer"; wait "$resumer" 2>/dev/null || true; echo "(the resumer is killed $1)"; }
until_so() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; echo "it did not happen: $*" >&2; cat "$work/resumer" >&2; exit 1; }
credited() { grep -q "$1" "$CREDITS"; }
told() { ask "$1" | grep -q "$2"; }
review() {
  until id=$(PLACET_TOKEN=$ann "$placet" --json inbox | grep -o 'req_[a-z0-9]*' | head -1) && [ -n "$id" ]; do sleep 0.2; done
  PLACET_TOKEN=$ann "$placet" "$1" "$id" "${@:2}" >/dev/null
  echo "ann: $*"
}

echo "== nobody is there when ann approves; the process that goes on was not born when it was asked"
ask s1 "I was charged twice, please credit 500 dollars to acc-7"
resume
sleep 1
killed "while it waits"
review approve --yes
resume
until_so told s1 "were credited"
ask s1

echo "== killed while the credit is made: it is not made again"
killed "when it has nothing to do"
ask s2 "I was charged twice, please credit 900 dollars to acc-8"
SLOW=600 resume
review approve --yes
until_so credited acc-8
killed "in the middle of the call"
resume
ask s3 "I was charged twice, please credit 9000 dollars to acc-9"
review deny --reason "above the limit"
until_so told s3 sorry
ask s3

echo "== what was really credited"
cat "$CREDITS"
diff "$CREDITS" <(printf 'acc-7 500.00\nacc-8 900.00\n')
"$placet" ledger verify --data "$work/data"
