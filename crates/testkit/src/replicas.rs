//! Real Postgres servers that a test can kill, promote and restart, and an address in front of them that moves.

use std::{
    os::unix::fs::chown,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_postgres::NoTls;

use crate::until;

/// Ends the server when the test ends in any way: its standard input closes then.
const KEEPER: &str = r#""$@" >>"$LOG" 2>&1 & pid=$!; read -r _; kill -QUIT $pid; wait $pid"#;

/// One Postgres server on a folder of its own.
#[derive(Debug)]
pub struct Replica {
    folder: TempDir,
    /// Where it listens, on loopback.
    pub port: u16,
    running: Option<Child>,
}

impl Replica {
    /// A new, empty primary.
    pub async fn primary() -> Self {
        let mut made = Self::place();
        let data = made.data();
        run(made.program("initdb").arg("-D").arg(&data).args([
            "-U",
            "postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]));
        made.start().await;
        made
    }

    /// A standby that follows this server.
    pub async fn standby(&self) -> Self {
        let mut made = Self::place();
        let data = made.data();
        let from = self.port.to_string();
        run(made.program("pg_basebackup").arg("-D").arg(&data).args([
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &from,
        ]));
        made.start().await;
        made
    }

    fn place() -> Self {
        let folder = tempfile::Builder::new().prefix("placet-replica-").tempdir().expect("a folder");
        if let Some((user, group)) = words("PLACET_TEST_POSTGRES_IDS").split_once(':') {
            let number = |text: &str| text.parse().expect("a number of a user or group");
            chown(folder.path(), Some(number(user)), Some(number(group))).expect("its owner can be set");
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        Self { folder, port, running: None }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let bin = words("PLACET_TEST_POSTGRES_BIN");
        assert!(!bin.is_empty(), "PLACET_TEST_POSTGRES_BIN is not set: run through `cargo xtask`");
        let program = PathBuf::from(bin).join(name);
        let prefix = words("PLACET_TEST_POSTGRES_AS");
        let mut prefix = prefix.split_whitespace();
        let mut command = match prefix.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(prefix).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.env("LC_ALL", "C").current_dir(self.folder.path());
        command
    }

    /// Starts it and waits until it answers.
    pub async fn start(&mut self) {
        self.start_with(&[]).await;
    }

    /// The same for a standby that cannot reach its primary.
    pub async fn start_cut_off(&mut self) {
        self.start_with(&["-c", "primary_conninfo="]).await;
    }

    async fn start_with(&mut self, more: &[&str]) {
        let log = self.folder.path().join("log");
        let server = {
            let mut server = self.program("postgres");
            server.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-F"]);
            let sockets = format!("unix_socket_directories={}", self.folder.path().display());
            server.args(["-h", "127.0.0.1", "-c", &sockets, "-c", "full_page_writes=off"]).args(more);
            server
        };
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "postgres"]).arg(server.get_program()).args(server.get_args());
        keeper.env("LOG", &log).env("LC_ALL", "C").current_dir(self.folder.path());
        self.running = Some(keeper.stdin(Stdio::piped()).spawn().expect("the server starts"));
        let url = self.url();
        until("Postgres to answer", async || tokio_postgres::connect(&url, NoTls).await.is_ok()).await;
    }

    /// Kills it, like a machine that fails.
    pub fn kill(&mut self) {
        if let Some(mut keeper) = self.running.take() {
            drop(keeper.stdin.take());
            keeper.wait().expect("it ends");
        }
    }

    /// Makes a standby the primary.
    pub async fn promote(&self) {
        self.sql("SELECT pg_promote(true, 60)").await;
    }

    /// Waits until a standby has all data of its primary.
    pub async fn caught_up_with(&self, primary: &Self) {
        let end = primary.value("SELECT pg_current_wal_lsn()::text").await;
        let there = format!("SELECT (pg_last_wal_replay_lsn() >= '{end}')::text");
        until("the standby to catch up", async || self.value(&there).await == "true").await;
    }

    /// Runs statements.
    pub async fn sql(&self, statements: &str) {
        self.messages(statements).await;
    }

    /// The one value of a query.
    pub async fn value(&self, query: &str) -> String {
        let rows = self.messages(query).await;
        let row = rows.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        row.unwrap_or_else(|| panic!("no value: {query}"))
    }

    async fn messages(&self, statements: &str) -> Vec<tokio_postgres::SimpleQueryMessage> {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.expect("it answers");
        let answers = async { client.simple_query(statements).await };
        tokio::select! {
            answers = answers => answers.unwrap_or_else(|error| panic!("{statements}: {error}")),
            ended = connection => panic!("{statements}: {ended:?}"),
        }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
    }
}

fn words(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn run(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An address that leads to one server at a time, like a virtual address or a proxy.
#[derive(Debug)]
pub struct Front {
    port: u16,
    target: watch::Sender<u16>,
    _serving: Arc<tokio::task::JoinSet<()>>,
}

impl Front {
    /// Leads to this server.
    pub async fn to(replica: &Replica) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let (target, heard) = watch::channel(replica.port);
        let mut serving = tokio::task::JoinSet::new();
        serving.spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(forward(client, heard.clone()));
            }
        });
        Self { port, target, _serving: Arc::new(serving) }
    }

    /// From now on it leads to another server. Connections to the old one end.
    pub fn switch(&self, replica: &Replica) {
        self.target.send_replace(replica.port);
    }

    /// The database behind it.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }
}

async fn forward(mut client: TcpStream, mut target: watch::Receiver<u16>) {
    let port = *target.borrow_and_update();
    let Ok(Ok(mut server)) =
        tokio::time::timeout(Duration::from_mins(1), TcpStream::connect(("127.0.0.1", port))).await
    else {
        return;
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = target.changed() => {}
    }
}
