#!/usr/bin/env bash
# A plain Python script that asks before it deletes, on a server of its own: one deletion is edited, one is denied, and one
# finds its request again after the script was killed.
#
#   ./try.sh              with `placet` in PATH, or PLACET_BIN=target/debug/placet ./try.sh
#
# Needs Python with sdk/python (pip install ./sdk/python); PYTHON names the interpreter.
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
PLACET_TOKEN=$("$placet" key new --role agent --name cleaner --data "$work/data" 2>/dev/null)
export PLACET_TOKEN
ann=$("$placet" key new --role reviewer --name ann --data "$work/data" 2>/dev/null)
as_ann() { PLACET_TOKEN=$ann "$placet" "$@"; }

fill() { mkdir -p files && touch files/draft.old files/report.old; }
pending() {
    for _ in $(seq 300); do
        id=$(as_ann inbox --json | grep -o 'req_[a-z0-9]*' | head -1) && [ -n "$id" ] && return
        sleep 0.1
    done
    echo "nothing came in" >&2
    exit 1
}

echo "== two old files; ann keeps the report"
fill
"$python" "$here/cleanup.py" files &
agent=$!
pending
as_ann edit "$id" --args '{"files":["files/draft.old"]}' --yes >/dev/null
wait "$agent"
ls files

echo "== again; ann says no"
fill
"$python" "$here/cleanup.py" files &
agent=$!
pending
as_ann deny "$id" --reason "the audit is on Monday" >/dev/null
wait "$agent"
ls files

echo "== again; the script is killed while it waits, and started anew"
"$python" "$here/cleanup.py" files &
agent=$!
pending
first=$id
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
"$python" "$here/cleanup.py" files &
agent=$!
sleep 1
pending
[ "$id" = "$first" ] && echo "ann is still asked once"
as_ann approve "$id" --yes >/dev/null
wait "$agent"
ls files
