# Runs one private Postgres cluster for as long as standard input stays open, then stops it and removes its folder.
# `cargo xtask` holds the other end of that pipe: however it ends (a failing step, a panic, Ctrl-C, even SIGKILL),
# the pipe closes and this script does its last part. So nothing is ever left running.
set -u
folder=$1 bin=$2 port=$3 fsync=$4
shift 4 # what is left is the prefix that gives up root's rights; nobody else needs one

finish() {
  trap - EXIT
  trap '' INT TERM HUP
  if [ -f "$folder/data/postmaster.pid" ]; then
    "$@" "$bin/pg_ctl" stop -D "$folder/data" -m fast -w -t 20 >>"$folder/setup.log" 2>&1 ||
      "$@" "$bin/pg_ctl" stop -D "$folder/data" -m immediate -w -t 20 >>"$folder/setup.log" 2>&1
  fi
  rm -rf "$folder"
}
give_up() {
  echo "--- what Postgres said:" >&2
  tail -n 20 "$folder/setup.log" >&2
  [ ! -f "$folder/server.log" ] || tail -n 20 "$folder/server.log" >&2
  exit 1
}
trap 'finish "$@"' EXIT
trap 'exit 1' INT TERM HUP

cd "$folder" || exit 1
"$@" "$bin/initdb" -D "$folder/data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync \
  >>"$folder/setup.log" 2>&1 || give_up
cat >>"$folder/data/postgresql.conf" <<CONF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
max_connections = 300
fsync = $fsync
full_page_writes = $fsync
CONF
"$@" "$bin/pg_ctl" start -D "$folder/data" -l "$folder/server.log" -w -t 60 >>"$folder/setup.log" 2>&1 || give_up

echo ready
read -r _ || true
