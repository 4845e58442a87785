#!/bin/sh
# The community gateway's clients against Placet, on a server of its own that ends with this script: one call approved, one
# rejected, one approved with other arguments. Needs `placet` (or PLACET_BIN) and python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
placet=${PLACET_BIN:-placet}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

"$placet" serve --data "$work/data" --listen 127.0.0.1:0 --dev --set doors.open_decide=true >"$work/out" 2>"$work/log" &
server=$!
while ! grep -q '^listening on ' "$work/out"; do
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
ADK_HITL_API_URL=$(sed -n 's/^listening on //p' "$work/out")
export ADK_HITL_API_URL ADK_HITL_POLL_INTERVAL_S=0.1

# What the gateway's dashboard does: list what is pending, then decide it.
decide() {
    python3 - "$1" <<'PYTHON'
import json, os, sys, time, urllib.request

url = os.environ["ADK_HITL_API_URL"]
while not (pending := json.load(urllib.request.urlopen(url + "/approvals/pending"))):
    time.sleep(0.05)
body = json.dumps({"reviewer_id": "dashboard_admin", **json.loads(sys.argv[1])}).encode()
where = f"{url}/approvals/{pending[0]['id']}/decide"
told = json.load(urllib.request.urlopen(urllib.request.Request(where, body, {"content-type": "application/json"})))
print(f"decided: {told['status']} by {told['decided_by']}, arguments {told['payload']}", flush=True)
PYTHON
}

round() {
    echo "== $1"
    python3 "$here/credit.py" 500 &
    agent=$!
    decide "$2"
    wait "$agent" || echo "(exit $?: the tool did not run)"
}

round "a reviewer says yes" '{"decision": "approved", "notes": "looks safe"}'
round "a reviewer says no" '{"decision": "rejected", "notes": "too much"}'
round "a reviewer says yes to less; the client would run what it asked, so it runs nothing" \
    '{"decision": "approved", "payload": {"account_id": "acc-7", "amount": 50}}'

"$placet" ledger verify --data "$work/data"
