#!/usr/bin/env bash
# The same as gated.sh with the placet command line: it asks, waits and claims; curl reports. Needs placet, curl and jq.
#
#   export PLACET_URL=http://127.0.0.1:4000 PLACET_TOKEN=plk_agent_…
#   ./gated-cli.sh old.log older.log        deletes these files, after a person said yes
set -euo pipefail
: "${PLACET_URL:=http://127.0.0.1:4000}" "${PLACET_TOKEN:?set it to the key of an agent}"
export PLACET_URL PLACET_TOKEN

# Exit codes: 3 denied, 4 expired, 5 cancelled, revoked or lapsed, 6 still pending. Only 0 is a yes, and set -e ends this
# script on any other.
claimed=$(placet --json request --tool delete_files --args "$(jq -n '{files: $ARGS.positional}' --args -- "$@")" \
  --session gated-cli.sh --risk high --wait 10m --claim)

id=$(jq -er .record.id <<<"$claimed")
# What runs is what the claim returned, name by name. A name with the character zero is no name of a file.
status=failed
if jq -e '.arguments.files | length > 0 and all(explode | all(. != 0))' <<<"$claimed" >/dev/null; then
  mapfile -d '' files < <(jq -j '.arguments.files[] | ., "\u0000"' <<<"$claimed")
  if rm -v -- "${files[@]}"; then status=succeeded; fi
fi

curl --silent --show-error --fail-with-body "$PLACET_URL/v1/requests/$id/outcome" \
  --config <(printf 'header = "Authorization: Bearer %s"\n' "$PLACET_TOKEN") \
  --json "$(jq '{permit, status: $status}' --arg status "$status" <<<"$claimed")" >/dev/null
echo "$id $status"
