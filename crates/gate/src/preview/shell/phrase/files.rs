//! Programs for files, databases and calls to servers.

use super::{Program, Row};

const fn row(flags: &'static str, operands: &'static str, says: &'static str) -> Row {
    Row { words: "", flags, operands, never: "", says }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["rm"],
        globals: "",
        anywhere: true,
        rows: &[row("-r|-R|--recursive -f|--force -v|--verbose -d|--dir", "path+", "delete {path}")],
    },
    Program { names: &["unlink"], globals: "", anywhere: true, rows: &[row("", "path", "delete {path}")] },
    Program {
        names: &["rmdir"],
        globals: "",
        anywhere: true,
        rows: &[row("-v|--verbose", "path+", "delete {path} if empty")],
    },
    Program {
        names: &["mv"],
        globals: "",
        anywhere: true,
        rows: &[row("-f|--force -v|--verbose", "from+ to", "move {from} to {to}")],
    },
    Program {
        names: &["cp"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-r|-R|--recursive -a|--archive -p -f|--force -v|--verbose",
            "from+ to",
            "copy {from} to {to}",
        )],
    },
    Program {
        names: &["mkdir"],
        globals: "",
        anywhere: true,
        rows: &[row("-p|--parents -v|--verbose", "path+", "create the folder {path}")],
    },
    Program {
        names: &["dropdb"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-h|--host=host -p|--port=port -U|--username=user --if-exists -f|--force -e|--echo",
            "name",
            "delete the database {name}[ on {host}][, port {port}][ as {user}]",
        )],
    },
    Program {
        names: &["createdb"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-h|--host=host -p|--port=port -U|--username=user",
            "name",
            "create the database {name}[ on {host}][, port {port}][ as {user}]",
        )],
    },
    Program {
        names: &["psql"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-h|--host=host -p|--port=port -U|--username=user -d|--dbname=db -c|--command=sql -X|--no-psqlrc -q|--quiet -A|--no-align -t|--tuples-only -w|--no-password",
            "db?",
            "{$sql}, with psql[ in {db}][ on {host}][, port {port}][ as {user}]",
        )],
    },
    Program {
        names: &["mysql", "mariadb"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-h|--host=host -P|--port=port -u|--user=user -p|--password -D|--database=db -e|--execute=sql -N -B|--batch -s|--silent",
            "db?",
            "{$sql}, with mysql[ in {db}][ on {host}][, port {port}][ as {user}]",
        )],
    },
    Program {
        names: &["sqlite3"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-header -csv -json -readonly:ro",
            "db sql",
            "{$sql}, in the file {db}[, for reading only{?ro}]",
        )],
    },
    Program {
        names: &["curl"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "-s|--silent -S|--show-error -L|--location -f|--fail -i|--include -v|--verbose -k|--insecure:insecure -I|--head:head -X|--request=method -H|--header=* -d|--data|--data-binary=*body --data-raw=*raw -F|--form=*form -T|--upload-file=*upload -o|--output=out -m|--max-time= --connect-timeout= --retry= --compressed -A|--user-agent=",
            "url",
            "{$curl}[, without checking the certificate{?insecure}][ and save the answer as {out}]",
        )],
    },
    Program {
        names: &["systemctl"],
        globals: "--no-pager",
        anywhere: true,
        rows: &[
            Row {
                words: "restart",
                flags: "",
                operands: "unit+",
                never: "*?[",
                says: "restart the service {unit}",
            },
            Row {
                words: "stop",
                flags: "",
                operands: "unit+",
                never: "*?[",
                says: "stop the service {unit}",
            },
            Row {
                words: "start",
                flags: "",
                operands: "unit+",
                never: "*?[",
                says: "start the service {unit}",
            },
            Row {
                words: "disable",
                flags: "--now:now",
                operands: "unit+",
                never: "*?[",
                says: "disable the service {unit}[ and stop it{?now}]",
            },
            Row {
                words: "enable",
                flags: "--now:now",
                operands: "unit+",
                never: "*?[",
                says: "enable the service {unit}[ and start it{?now}]",
            },
        ],
    },
];
