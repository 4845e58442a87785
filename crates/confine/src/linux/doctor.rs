//! What this machine can do, in sentences, for `placet doctor`.

use std::{fs, path::Path, process::Command};

/// What was found out about confinement on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Whether commands can be confined here. If not, they are held.
    pub works: bool,
    /// What was found, one sentence each.
    pub sentences: Vec<String>,
}

/// Tries a confined run of `true` with this very program, and says what stands in the way.
pub fn probe() -> Probe {
    let mut sentences = Vec::new();
    let tried = attempt();
    match &tried {
        Ok(()) => sentences.push("Commands can be confined on this machine.".to_owned()),
        Err(sentence) => {
            sentences.push(format!("Commands cannot be confined here, so they are held: {sentence}."));
        }
    }
    sentences.extend(reasons(tried.is_ok()));
    Probe { works: tried.is_ok(), sentences }
}

fn attempt() -> Result<(), String> {
    let failed = |error: std::io::Error| format!("no folder to try it in: {error}");
    // Not in `TMPDIR` first: it may lie where no workspace can be, such as `/dev/shm`.
    let name = format!("placet-probe-{}", std::process::id());
    let (kept, own) = (Path::new("/var/tmp").join(&name), std::env::temp_dir().join(&name));
    let folder = if fs::create_dir(&kept).is_ok() { kept } else { own };
    fs::create_dir_all(&folder).map_err(failed)?;
    let result = fs::canonicalize(&folder).map_err(failed).and_then(|folder| {
        let profile = serde_json::json!({
            "version": crate::VERSION, "workspace": [folder], "cwd": folder, "home": "/nonexistent/home",
        });
        let output = Command::new("/proc/self/exe")
            .args(["run", "--profile", &profile.to_string(), "--", "true"])
            .output()
            .map_err(failed)?;
        let said =
            String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("placet run: ").to_owned();
        if output.status.success() { Ok(()) } else { Err(said.trim_end_matches('.').to_owned()) }
    });
    let _ = fs::remove_dir_all(&folder);
    result
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// What is known to stand in the way, and what to do about it.
fn reasons(works: bool) -> Vec<String> {
    let mut sentences = Vec::new();
    if !works && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        let program =
            std::env::current_exe().map_or("/usr/local/bin/placet".into(), |path| path.display().to_string());
        sentences.push(format!(
            "Ubuntu's AppArmor keeps user namespaces from programs without a profile. Write `abi <abi/4.0>, include \
             <tunables/global> profile placet {program} flags=(unconfined) {{ userns, }}` to /etc/apparmor.d/placet and \
             run `sudo apparmor_parser -r /etc/apparmor.d/placet`."
        ));
    }
    if number("/proc/sys/user/max_user_namespaces") == Some(0) {
        sentences.push("User namespaces are off: `sysctl user.max_user_namespaces` is 0.".to_owned());
    }
    if number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        sentences.push("User namespaces are off: `sysctl kernel.unprivileged_userns_clone` is 0.".to_owned());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default().to_owned()
    };
    if field("Seccomp:") == "2" {
        sentences.push(format!(
            "This shell runs in a sandbox already (it has a seccomp filter){}",
            if works { "; a run inside it works." } else { ", which can be what refuses new namespaces." }
        ));
    }
    if field("NoNewPrivs:") == "1" {
        sentences
            .push("Programs with the setuid bit have no effect in this shell (no_new_privs).".to_owned());
    }
    for (variable, name) in [("SANDBOX_RUNTIME", "Claude Code"), ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex")]
    {
        if std::env::var_os(variable).is_some() {
            let verb = if works { "works" } else { "does not work" };
            sentences.push(format!("This is inside the sandbox of {name}. Confinement {verb} inside it."));
        }
    }
    if fs::metadata("/.dockerenv").is_ok() || fs::metadata("/run/.containerenv").is_ok() {
        sentences.push("This is a container.".to_owned());
    }
    sentences
}
