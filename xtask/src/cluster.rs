//! A private Postgres cluster in a temporary folder, stopped and removed when this program ends in any way.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::install;
use crate::process::{Workspace, exit_code, find_program, note, say, status, works};

/// Stops Postgres by its process id and removes the folder when its standard input closes.
const KEEPER: &str = include_str!("cluster.sh");

/// Whether a commit reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// fsync off: quick, and what tests need.
    Throwaway,
    /// fsync on, outside any memory file system: what measurements need.
    Fsync,
}

/// A running cluster; dropping it stops Postgres and waits until it is gone.
pub(crate) struct Cluster {
    url: String,
    /// For tests that start servers of their own: where the programs are, and which user runs them.
    own: [(&'static str, String); 3],
    /// The script that owns the cluster. It stops when its standard input closes: see `cluster.sh`.
    keeper: Child,
}

impl Cluster {
    /// Makes and starts a cluster; takes one to three seconds.
    pub(crate) fn start(durability: Durability) -> Result<Self> {
        let bin = install::postgres()?;
        let user = Unprivileged::choose()?;
        let fsync = if durability == Durability::Fsync { "on" } else { "off" };
        note(format!("starting a private Postgres from {} (fsync {fsync})", bin.display()));
        // Another program may take the port before Postgres binds it. Then try another port.
        for _ in 0..3 {
            if let Some(cluster) = Self::attempt(&bin, &user, durability, fsync)? {
                note(format!("Postgres is ready: {}", cluster.url));
                return Ok(cluster);
            }
        }
        bail!("the private Postgres did not start in three attempts; its output is above")
    }

    fn attempt(bin: &Path, user: &Unprivileged, durability: Durability, fsync: &str) -> Result<Option<Self>> {
        let port = TcpListener::bind("127.0.0.1:0").context("no loopback port is free")?.local_addr()?.port();
        let folder = user.folder(durability, port)?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(KEEPER).arg("placet-postgres").args([&folder, bin]);
        command.args([port.to_string().as_str(), fsync]).args(&user.prefix);
        // Settings of the developer's own Postgres must not reach this one.
        for name in
            ["PGDATA", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGOPTIONS", "PGPASSWORD", "PGSERVICE"]
        {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped());
        // Its own process group: Ctrl-C ends us, and the closed pipe stops the cluster.
        command.process_group(0);
        let mut keeper = command.spawn().context("cannot start `sh`")?;
        let mut said = String::new();
        if let Some(stdout) = keeper.stdout.take() {
            BufReader::new(stdout).read_line(&mut said)?;
        }
        if said.trim() != "ready" {
            keeper.wait()?;
            return Ok(None);
        }
        // Programs of one version: some of them are linked elsewhere.
        let programs = fs::canonicalize(bin.join("pg_ctl"))?;
        let programs = programs.parent().unwrap_or(bin).display().to_string();
        let own = [
            ("PLACET_TEST_POSTGRES_BIN", programs),
            ("PLACET_TEST_POSTGRES_AS", user.prefix.join(" ")),
            ("PLACET_TEST_POSTGRES_IDS", user.ids.map_or(String::new(), |(uid, gid)| format!("{uid}:{gid}"))),
        ];
        Ok(Some(Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), own, keeper }))
    }

    /// Tells a command about it.
    pub(crate) fn tell<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("PLACET_TEST_POSTGRES", &self.url)
            .envs(self.own.iter().map(|(name, value)| (name, value)))
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The script has its own timeout. An error here leaves nothing more to do.
        let _ = self.keeper.wait();
    }
}

/// Postgres refuses to run as root: the user that runs it, and how.
struct Unprivileged {
    /// User and group number, when we are root.
    ids: Option<(u32, u32)>,
    /// Command words that run what follows as that user.
    prefix: Vec<String>,
}

impl Unprivileged {
    fn choose() -> Result<Self> {
        if !install::is_root() {
            return Ok(Self { ids: None, prefix: Vec::new() });
        }
        let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let (name, uid, gid) = ["postgres", "nobody"].iter().find_map(|name| user(&passwd, name)).context(
            "Postgres does not run as root, and there is neither a user `postgres` nor `nobody`: add one (`adduser --system postgres`)",
        )?;
        let prefix = if find_program("setpriv").is_some() {
            vec![
                "setpriv".to_owned(),
                format!("--reuid={uid}"),
                format!("--regid={gid}"),
                "--clear-groups".to_owned(),
            ]
        } else if find_program("runuser").is_some() {
            vec!["runuser".to_owned(), "-u".to_owned(), name.to_owned(), "--".to_owned()]
        } else {
            bail!(
                "Postgres does not run as root, and neither `setpriv` nor `runuser` is here: install util-linux"
            );
        };
        Ok(Self { ids: Some((uid, gid)), prefix })
    }

    /// A new folder that this user can work in.
    fn folder(&self, durability: Durability, port: u16) -> Result<PathBuf> {
        // /tmp is often in memory, where fsync costs nothing and a measurement would look too good.
        let first = if durability == Durability::Fsync { "/var/tmp".into() } else { std::env::temp_dir() };
        for base in [first, "/tmp".into()] {
            let folder = base.join(format!("placet-postgres-{}-{port}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot create {}", folder.display()));
                }
            }
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
            if let Some((uid, gid)) = self.ids {
                chown(&folder, Some(uid), Some(gid))?;
            }
            if self.can_write(&folder) {
                return Ok(folder);
            }
            // A temporary folder inside root's home is closed to other users.
            fs::remove_dir(&folder)?;
        }
        bail!("no temporary folder that the Postgres user can write to: set TMPDIR to one")
    }

    fn can_write(&self, folder: &Path) -> bool {
        let mut words = self.prefix.iter().map(String::as_str).chain(["test", "-w"]);
        let Some(program) = words.next() else { return false };
        works(Command::new(program).args(words).arg(folder))
    }
}

/// Number and group number of a user in the text of `/etc/passwd`.
fn user<'a>(passwd: &str, name: &'a str) -> Option<(&'a str, u32, u32)> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        let (uid, gid) = (fields.nth(1)?, fields.next()?);
        Some((name, uid.parse().ok()?, gid.parse().ok()?))
    })
}

/// `cargo xtask postgres`: with a command, runs it; without one, waits for Ctrl-C.
pub(crate) fn command(workspace: &Workspace, durability: Durability, command: &[String]) -> Result<ExitCode> {
    let cluster = Cluster::start(durability)?;
    let Some((program, args)) = command.split_first() else {
        say(format!("\nexport PLACET_TEST_POSTGRES={}", cluster.url()));
        for (name, value) in &cluster.own {
            say(format!("export {name}='{value}'"));
        }
        say("");
        note("running until Ctrl-C; the cluster and its folder are gone then");
        loop {
            std::thread::park();
        }
    };
    let status = status(cluster.tell(Command::new(program).args(args).current_dir(&workspace.root)))?;
    drop(cluster);
    note("the private Postgres is stopped and removed");
    Ok(exit_code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\npostgresql:x:7:7::/:/x\npostgres:x:101:104:admin:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(user(passwd, "postgres"), Some(("postgres", 101, 104)));
        assert_eq!(user(passwd, "nobody"), None);
    }
}
