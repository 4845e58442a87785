#!/usr/bin/env bash
# The credit agent on a server of its own, with a reviewer who approves one credit, halves the next and denies the third.
#
#   ./try.sh              with `placet` in PATH (or PLACET_BIN), and a python that has `placet[adk]` (or PYTHON)
#   ./try.sh --live       the server stays, and you decide in the dashboard
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
export NO_COLOR=1 CREDITS="$work/credits.log"

"$python" -c 'import google.adk, placet' || { echo "install what the agent needs: pip install 'placet[adk]'" >&2; exit 1; }
"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
PLACET_TOKEN=$("$placet" key new --role agent --name credit-agent --data "$work/data" 2>/dev/null)
export PLACET_URL PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
echo "dashboard: $PLACET_URL"

if [ "${1:-}" = --live ]; then
  echo "sign in as ann: $("$placet" person link ann --data "$work/data" 2>/dev/null | grep -o 'http[^ ]*')"
  while true; do
    "$python" "$here/agent.py"
    read -rp "Enter for another one, Ctrl-C to end " || break
  done
  exit
fi

# As ann: waits for the next request, then does what the arguments say with it.
review() {
  local id
  until id=$(PLACET_TOKEN=$ann "$placet" --json inbox | grep -o 'req_[a-z0-9]*' | head -1) && [ -n "$id" ]; do sleep 0.2; done
  PLACET_TOKEN=$ann "$placet" "$1" "$id" "${@:2}" >/dev/null
  echo "ann: $*"
}

"$python" "$here/agent.py" "I was charged twice, please credit 500 dollars to acc-7" \
  "Please credit 900 dollars to acc-8" "Please credit 9000 dollars to acc-9" &
agent=$!
review approve --yes
review edit --args '{"account_id":"acc-8","amount":450.0,"reason":"charged twice"}' --yes
review deny --reason "above the limit"
wait "$agent"

echo; echo "== what was really credited"
cat "$CREDITS"
diff "$CREDITS" <(printf 'acc-7 500.00\nacc-8 450.00\n')
"$placet" ledger verify --data "$work/data"
