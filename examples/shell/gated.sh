#!/usr/bin/env bash
# Runs a command only after a person said yes, once, and says what became of it. Needs curl and jq.
#
#   export PLACET_URL=http://127.0.0.1:4000 PLACET_TOKEN=plk_agent_…
#   ./gated.sh rm -v old.log
#
# What runs is what the claim returns: a reviewer may have edited the command. Every error means "not run".
# Exit codes: the command's own; 3 denied; 4 expired; 5 cancelled, revoked or lapsed; 1 anything else.
set -euo pipefail
: "${PLACET_URL:=http://127.0.0.1:4000}" "${PLACET_TOKEN:?set it to the key of an agent}"
[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT]…" >&2; exit 2; }

# The key goes in over a pipe, not on the command line: other users can see that.
# --retry repeats a call whose answer was lost; the keys below make that harmless.
call() {
  curl --silent --show-error --fail-with-body --max-time 40 --retry 5 --retry-all-errors --retry-max-time 60 \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "$PLACET_TOKEN") "$@"
}
random() { od -An -tx1 -N16 /dev/urandom | tr -d ' \n'; }
die() { echo "gated: $*" >&2; exit 1; }

# 1. Ask. The same idempotency key gives the same request, however often the call is repeated.
body=$(jq -n '{kind: "action", tool: "shell", session: "gated.sh", arguments: {argv: $ARGS.positional},
               context: {cwd: $cwd}, arguments_schema: {type: "object", required: ["argv"], additionalProperties: false,
               properties: {argv: {type: "array", minItems: 1, items: {type: "string"}}}}}' \
       --arg cwd "$PWD" --args -- "$@")
record=$(call "$PLACET_URL/v1/requests" --header "Idempotency-Key: $(random)" --json "$body") || die "cannot ask: $record"
id=$(jq -er .id <<<"$record") || die "no id in the answer"
echo "gated: asked as $id; decide with \`placet inbox\`" >&2

# 2. Wait. Each call waits up to 25 s; the request's own deadline ends the loop.
while state=$(jq -er .state <<<"$record") && [ "$state" = pending ]; do
  record=$(call "$PLACET_URL/v1/requests/$id?wait=25s") || die "cannot wait: $record"
done
case "$state" in
  approved) ;;
  denied) echo "gated: denied: $(jq -c .decision.reason <<<"$record")" >&2; exit 3 ;;
  expired) echo "gated: nobody decided in time" >&2; exit 4 ;;
  cancelled | revoked | lapsed) echo "gated: $state" >&2; exit 5 ;;
  *) die "unexpected state $state" ;;
esac

# 3. Claim. The claimant is a secret of this process: with it, a lost answer can be asked for again.
claimed=$(call "$PLACET_URL/v1/requests/$id/claim" --json "{\"claimant\":\"$(random)\"}") || die "no permit: $claimed"
permit=$(jq -er .permit <<<"$claimed") || die "no permit in the answer"

# 4. Run the arguments that came back, word by word; no shell sees them. A word with the character zero cannot be passed
#    to a program as it was approved, so nothing runs then.
status=failed code=1
if jq -e '.arguments.argv | length > 0 and all(explode | all(. != 0))' <<<"$claimed" >/dev/null; then
  mapfile -d '' argv < <(jq -j '.arguments.argv[] | ., "\u0000"' <<<"$claimed")
  code=0
  "${argv[@]}" || code=$?
  [ "$code" -ne 0 ] || status=succeeded
fi

# 5. Report. If this fails the request ends `unknown` and a person settles it; the command is not run again.
report=$(jq -n '{permit: $permit, status: $status, note: "exit code \($code)"}' \
         --arg permit "$permit" --arg status "$status" --argjson code "$code")
call "$PLACET_URL/v1/requests/$id/outcome" --json "$report" >/dev/null || echo "gated: ran, but could not report" >&2
exit "$code"
