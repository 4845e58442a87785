//! `placet up --own-user`: a system service under the user `placet`, whose files an agent of a person cannot read.

use std::{
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};

use super::{
    place::user_name,
    service::{MARK, ours, quoted, run, write},
};
use crate::{
    cli::UpArgs,
    exit::usage,
    output,
    socket::{self, LinkRequest, OwnerAnswer, OwnerRequest, Reply},
};

/// The user that runs the service.
pub(super) const USER: &str = "placet";
/// Its data.
pub(super) const DATA: &str = "/var/lib/placet";
const UNIT: &str = "/etc/systemd/system/placet.service";
const BINARY: &str = "/usr/local/bin/placet";
/// How often the new server is asked for a link, a tenth of a second apart.
const TRIES: u32 = 100;

/// `placet up --own-user`.
pub(crate) async fn run_command(args: UpArgs) -> anyhow::Result<ExitCode> {
    let root = args.root.clone().unwrap_or_else(|| PathBuf::from("/"));
    let staged = args.root.is_some();
    let me = rustix::process::geteuid();
    if !staged && !me.is_root() {
        return explain(&args, me.as_raw());
    }
    if !staged && !cfg!(target_os = "linux") {
        bail!(
            "--own-user sets up a service of systemd, which this system does not have: see docs/operators.md for doing it by hand"
        );
    }
    if args.not_at_login {
        return remove(&root);
    }
    let unit_file = below(&root, UNIT);
    // Before anything is changed: a unit of somebody else stays.
    ours(&unit_file)?;
    let binary = safe_binary(&root)?;
    user()?;
    let data = below(&root, DATA);
    folder(&data)?;
    write(&unit_file, &unit(&binary, args.listen.map(|listen| listen.to_string()).as_deref()))?;
    output::line(&format!("Placet   runs as the user {USER}: an agent of yours cannot read its files"))?;
    output::line(&format!("Data     {}", data.display()))?;
    output::line(&format!("Service  {}", unit_file.display()))?;
    let started = run("systemctl", &["daemon-reload"])
        && run("systemctl", &["enable", "placet.service"])
        && run("systemctl", &["restart", "placet.service"]);
    if !started {
        output::line("systemd did not start it. Once systemd runs: systemctl enable --now placet.service")?;
        return Ok(ExitCode::FAILURE);
    }
    if staged {
        return Ok(ExitCode::SUCCESS);
    }
    match link(&data).await {
        Some(url) => output::line(&format!(
            "Sign in  {url}\n         (works once; `sudo placet up --own-user` makes another)"
        ))?,
        None => output::line("It has not answered yet. Its log: journalctl -u placet.service")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what to run, to somebody who may not do it.
fn explain(args: &UpArgs, me: u32) -> anyhow::Result<ExitCode> {
    let own = std::env::current_exe()?;
    let mut command = format!("sudo {} up --own-user", own.display());
    if args.not_at_login {
        command.push_str(" --not-at-login");
    }
    if let Some(listen) = args.listen {
        command.push_str(" --listen ");
        command.push_str(&listen.to_string());
    }
    output::line(&format!(
        "Placet started by you runs as you ({}). An agent of yours could read its data and approve its own calls.\n\
         This makes the user `{USER}`, the folder {DATA} and a service of systemd:\n  {command}\n\
         An agent that may use sudo without a password can still read everything.",
        user_name(me)
    ))?;
    Err(usage("--own-user needs root, and nothing was changed"))
}

/// Stops the service and removes it. User and data stay.
fn remove(root: &Path) -> anyhow::Result<ExitCode> {
    let unit_file = below(root, UNIT);
    if !ours(&unit_file)? {
        output::line("There is no service of `placet up --own-user` to remove.")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !run("systemctl", &["disable", "--now", "placet.service"]) {
        bail!("systemd did not stop placet.service: nothing was removed");
    }
    std::fs::remove_file(&unit_file).with_context(|| format!("cannot remove {}", unit_file.display()))?;
    run("systemctl", &["daemon-reload"]);
    output::line(&format!("Removed {}. The user {USER} and the data in {DATA} stay.", unit_file.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// A copy of this program that only root can change. An agent could replace one in a person's folder.
fn safe_binary(root: &Path) -> anyhow::Result<PathBuf> {
    let own = std::fs::canonicalize(std::env::current_exe()?)?;
    if only_root_writes(&own) && !in_a_home(&own) {
        return Ok(own);
    }
    let copy = below(root, BINARY);
    let folder = copy.parent().context("a program needs a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let next = copy.with_extension("next");
    std::fs::copy(&own, &next).with_context(|| format!("cannot write {}", next.display()))?;
    std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o755))?;
    std::fs::rename(&next, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    output::line(&format!(
        "Program  {} (a copy of {}, which only root can change)",
        copy.display(),
        own.display()
    ))?;
    Ok(PathBuf::from(BINARY))
}

/// Whether root alone can change this file, by itself and by each folder above it.
fn only_root_writes(file: &Path) -> bool {
    file.ancestors()
        .all(|path| std::fs::metadata(path).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0))
}

/// The service sees no homes.
fn in_a_home(file: &Path) -> bool {
    ["/home", "/root", "/run/user"].iter().any(|home| file.starts_with(home))
}

/// Makes the user, unless there is one.
fn user() -> anyhow::Result<()> {
    if number("-u").is_ok() {
        return Ok(());
    }
    let made = run(
        "useradd",
        &[
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir",
            DATA,
            "--shell",
            "/usr/sbin/nologin",
            USER,
        ],
    );
    if !made {
        bail!("the user `{USER}` could not be made with useradd: make it, and run this again");
    }
    Ok(())
}

/// Makes the data folder, for that user alone.
fn folder(data: &Path) -> anyhow::Result<()> {
    let problem = || format!("cannot make {}", data.display());
    if let Some(above) = data.parent() {
        std::fs::create_dir_all(above).with_context(problem)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(data) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).with_context(problem),
    }
    let [uid, gid] = [number("-u")?, number("-g")?];
    std::os::unix::fs::lchown(data, Some(uid), Some(gid))
        .with_context(|| format!("cannot give {} to the user {USER}", data.display()))?;
    if !std::fs::symlink_metadata(data).with_context(problem)?.is_dir() {
        bail!("{} is not a folder: nothing was started", data.display());
    }
    std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700)).with_context(problem)
}

/// The number of the user or of its group.
fn number(which: &str) -> anyhow::Result<u32> {
    let said = Command::new("id").args([which, USER]).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&said.stdout);
    text.trim().parse().with_context(|| format!("`id {which} {USER}` did not answer with a number"))
}

/// The unit: a service that sees nothing but its data.
fn unit(binary: &Path, listen: Option<&str>) -> String {
    let mut words = vec![binary.display().to_string()];
    words.extend(["up", "--service", "--data", DATA, "--state", "/var/lib/placet/state"].map(str::to_owned));
    words.extend(listen.into_iter().flat_map(|listen| ["--listen".to_owned(), listen.to_owned()]));
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!(
        "# {MARK} --own-user; `placet up --own-user --not-at-login` removes it.\n\
         [Unit]\n\
         Description=Placet holds what agents do until a person said yes\n\
         After=network.target\n\
         \n\
         [Service]\n\
         User={USER}\n\
         Group={USER}\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         StateDirectory=placet\n\
         StateDirectoryMode=0700\n\
         UMask=0077\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=yes\n\
         PrivateTmp=yes\n\
         PrivateDevices=yes\n\
         CapabilityBoundingSet=\n\
         LimitNOFILE=65536\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        words.join(" ")
    )
}

/// A link of the server that was just started.
async fn link(data: &Path) -> Option<String> {
    let request = OwnerRequest::Link(LinkRequest { link: "admin".to_owned() });
    for _ in 0..TRIES {
        if let Ok(Reply::Answered(OwnerAnswer::Link { url, .. })) = socket::ask(data, &request).await {
            return Some(url);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_folder_of_a_person_is_not_run_by_the_service() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("placet");
        std::fs::write(&file, "").unwrap();
        // `/tmp` is everybody's, so anything in it can be replaced.
        assert!(!only_root_writes(&file));
        assert!(in_a_home(Path::new("/home/ann/.cargo/bin/placet")));
        assert!(!in_a_home(Path::new("/usr/bin/placet")));
    }

    #[test]
    fn the_service_runs_as_its_user_and_is_the_only_one_that_reads_its_data() {
        let unit = unit(Path::new("/usr/bin/placet"), Some("127.0.0.1:4100"));
        for line in [
            "User=placet",
            "StateDirectoryMode=0700",
            "ProtectHome=yes",
            "ExecStart=\"/usr/bin/placet\" \"up\" \"--service\" \"--data\" \"/var/lib/placet\" \"--state\" \
             \"/var/lib/placet/state\" \"--listen\" \"127.0.0.1:4100\"",
        ] {
            assert!(unit.lines().any(|found| found == line), "{line}: {unit}");
        }
    }
}
