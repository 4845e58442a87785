//! Opens the dashboard in this person's browser, signed in by a one-time link.

use std::{
    ffi::OsString,
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

/// The page that leads to the link.
const PAGE: &str = "open.html";
/// Programs that open a page return soon. One that does not is the browser itself.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens the link. Returns whether a browser took it.
///
/// Other users of this machine can read the arguments of a program, so the browser gets a file of this user that leads
/// to the link.
pub(super) async fn open(data: &Path, link: &str) -> bool {
    let Some(program) = program(&|name| std::env::var_os(name)) else { return false };
    let Ok(page) = write(data, link) else { return false };
    let mut command = tokio::process::Command::new(&program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for secret in ["PLACET_TOKEN", "PLACET_BOOTSTRAP_TOKEN", "PLACET_DATABASE"] {
        command.env_remove(secret);
    }
    // Ctrl-C in this terminal ends the server, not the browser.
    command.process_group(0);
    let Ok(mut child) = command.spawn() else { return false };
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(ended) => ended.is_ok_and(|status| status.success()),
        Err(_) => true,
    }
}

/// Removes the page, whose link works once.
pub(super) fn forget(data: &Path) {
    let _ = fs::remove_file(data.join(PAGE));
}

/// The program that opens a page, if there is a screen.
fn program(var: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    let path = set("PATH")?;
    let find =
        |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    if cfg!(target_os = "macos") {
        return find("open");
    }
    // A terminal over SSH has no screen, and a browser in the terminal would fight for it.
    if set("DISPLAY").is_none() && set("WAYLAND_DISPLAY").is_none() && set("WSL_DISTRO_NAME").is_none() {
        return None;
    }
    ["xdg-open", "wslview", "gio-open"].into_iter().find_map(find)
}

fn write(data: &Path, link: &str) -> std::io::Result<PathBuf> {
    let path = data.join(PAGE);
    forget(data);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(page(link).as_bytes())?;
    Ok(path)
}

fn page(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\"><title>Placet</title>\
         <p>This page leads to <a href=\"{link}\">Placet</a>. Its link works once.</p>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn without_a_screen_or_a_program_nothing_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path: OsString = folder.path().into();
        let with = |names: &'static [&'static str]| {
            let path = path.clone();
            move |name: &str| match name {
                "PATH" => Some(path.clone()),
                name if names.contains(&name) => Some(":0".into()),
                _ => None,
            }
        };
        if cfg!(target_os = "macos") {
            return;
        }
        assert_eq!(program(&with(&["DISPLAY"])), None, "there is no program");
        std::fs::write(folder.path().join("xdg-open"), "").unwrap();
        assert_eq!(program(&with(&["DISPLAY"])), Some(folder.path().join("xdg-open")));
        assert_eq!(program(&with(&["WAYLAND_DISPLAY"])), Some(folder.path().join("xdg-open")));
        assert_eq!(program(&with(&[])), None, "there is no screen");
    }

    #[test]
    fn the_page_is_for_its_owner_alone_and_a_link_cannot_leave_its_attribute() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "http://127.0.0.1:4000/sign-in/a\"><script>&").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("<script") && text.contains("/a&quot;>&lt;script>&amp;"), "{text}");
        forget(folder.path());
        assert!(!path.exists());
    }
}
