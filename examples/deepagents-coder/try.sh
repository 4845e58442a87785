#!/usr/bin/env bash
# The coder on a server of its own: one file is approved with a change, the other denied.
#
#   ./try.sh      with `placet` in PATH (or PLACET_BIN), and a python that has `placet[adk-deepagents]` (or PYTHON)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
placet=$(command -v "${PLACET_BIN:-placet}") || { echo "there is no placet here: run cargo build --release, and set PLACET_BIN to target/release/placet" >&2; exit 1; }
placet=$(realpath "$placet")
python=${PYTHON:-python3}
work=$(mktemp -d)
mkdir "$work/code"
export NO_COLOR=1

"$python" -c 'import adk_deepagents, placet' ||
  { echo "install what the agent needs: pip install 'placet[adk-deepagents]'" >&2; exit 1; }
"$placet" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/url" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do grep -q listening "$work/url" && break; sleep 0.1; done
PLACET_URL=$(sed -n 's/^listening on //p' "$work/url")
PLACET_TOKEN=$("$placet" key new --role agent --name coder --data "$work/data" 2>/dev/null)
export PLACET_URL PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
echo "dashboard: $PLACET_URL"

# As ann: waits for the next request, then does what the arguments say with it.
review() {
  local id
  until id=$(PLACET_TOKEN=$ann "$placet" --json inbox | grep -o 'req_[a-z0-9]*' | head -1) && [ -n "$id" ]; do sleep 0.2; done
  PLACET_TOKEN=$ann "$placet" "$1" "$id" "${@:2}" >/dev/null
  echo "ann: $*"
}

"$python" "$here/coder.py" "$work/code" &
agent=$!
review edit --args '{"file_path":"/hello.py","content":"print(\"hello, world\")\n"}' --yes
review deny --reason "no secrets in the repository"
wait "$agent"

echo "== what was really written"
head "$work"/code/*
[ "$(ls "$work/code")" = hello.py ] && grep -q 'hello, world' "$work/code/hello.py"
"$placet" ledger verify --data "$work/data"
