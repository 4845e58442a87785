//! What one run of a session leaves in `/tmp` for the next, and that nothing outside is reached through it.
#![cfg(target_os = "linux")]

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use placet_confine::{remove_kept, tidy_kept};
use serde_json::{Value, json};

const RUNNER: &str = env!("CARGO_BIN_EXE_confine-test");

/// A workspace, a home and a folder for sessions beside it.
struct Space {
    base: tempfile::TempDir,
}

impl Space {
    /// None where this machine cannot confine; the reason is printed.
    fn new() -> Option<Self> {
        let probe = Command::new(RUNNER).arg("probe").output().unwrap();
        if !probe.status.success() {
            let _ = writeln!(std::io::stdout(), "skipped: {}", String::from_utf8_lossy(&probe.stdout));
            return None;
        }
        let base = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let space = Self { base };
        for name in ["ws", "home", "sessions", "outside"] {
            fs::create_dir(space.at(name)).unwrap();
        }
        fs::write(space.at("outside/file"), "untouched").unwrap();
        Some(space)
    }

    fn at(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.base.path()).unwrap().join(name)
    }

    fn run(&self, session: &str, more: &Value, script: &str) -> Output {
        let mut profile = json!({
            "version": 1, "workspace": [self.at("ws")], "cwd": self.at("ws"), "home": self.at("home"),
            "kept": self.at("sessions").join(session),
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            profile[key] = value.clone();
        }
        let mut command = Command::new(RUNNER);
        command.args(["run", "--profile", &profile.to_string(), "--", "sh", "-c", script]);
        command.current_dir(self.at("ws")).output().unwrap()
    }

    fn says(&self, session: &str, script: &str) -> String {
        let output = self.run(session, &json!({}), script);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn outside_is_untouched(&self) {
        assert_eq!(fs::read_to_string(self.at("outside/file")).unwrap(), "untouched");
        assert_eq!(fs::read_dir(self.at("outside")).unwrap().count(), 1);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes it look as if nobody had used it for so many hours.
fn age(folder: &Path, hours: u64) {
    let time = fs::metadata(folder).unwrap().modified().unwrap() - Duration::from_hours(hours);
    fs::File::open(folder).unwrap().set_modified(time).unwrap();
}

#[test]
fn temporary_files_stay_for_the_next_run_of_the_session_and_for_no_other() {
    let Some(space) = Space::new() else { return };
    space.says(
        "one",
        "echo x > /tmp/f; mkdir -p ~/.cache/tool; echo y > ~/.cache/tool/g; echo z > /var/tmp/h",
    );
    assert_eq!(space.says("one", "cat /tmp/f ~/.cache/tool/g; ls /var/tmp"), "x\ny\n");
    assert_eq!(space.says("two", "ls -A /tmp ~/.cache | wc -w"), "2\n", "only the two headings");
    assert!(!Path::new("/tmp/f").exists(), "the machine's own folder is another");
    for folder in ["sessions/one", "sessions/one/tmp", "sessions/one/cache"] {
        assert_eq!(fs::metadata(space.at(folder)).unwrap().mode() & 0o777, 0o700, "{folder}");
    }
}

#[test]
fn kept_folders_hold_no_program_with_other_rights_and_no_device() {
    let Some(space) = Space::new() else { return };
    let options = space.says("one", "grep -E ' (/tmp|[^ ]*/.cache) ' /proc/self/mountinfo | cut -d' ' -f6");
    assert_eq!(options.lines().count(), 2, "{options}");
    for line in options.lines() {
        assert!(line.contains("nosuid") && line.contains("nodev"), "{options}");
    }
}

#[test]
fn a_session_cannot_be_seen_by_its_path() {
    let Some(space) = Space::new() else { return };
    space.says("one", "echo secret > /tmp/f");
    let path = space.at("sessions").display().to_string();
    let output = space.run("two", &json!({}), &format!("cat {path}/one/tmp/f; ls {path}"));
    assert!(!output.status.success() && text(&output.stdout).is_empty(), "{}", text(&output.stdout));
    // Not even where a workspace or something that is shown lies around it.
    for more in [
        json!({"workspace": [space.at("ws"), space.at("sessions")]}),
        json!({"show": [space.at("sessions")]}),
    ] {
        let output = space.run("one", &more, "true");
        assert_eq!(output.status.code(), Some(125), "{more}");
        assert!(text(&output.stderr).contains("the command would see it there"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_link_in_place_of_a_kept_folder_runs_nothing() {
    let Some(space) = Space::new() else { return };
    symlink(space.at("outside"), space.at("sessions/one")).unwrap();
    fs::create_dir(space.at("sessions/two")).unwrap();
    symlink(space.at("outside"), space.at("sessions/two/tmp")).unwrap();
    fs::write(space.at("sessions/three"), "").unwrap();
    for session in ["one", "two", "three"] {
        let output = space.run(session, &json!({}), "touch /tmp/ran ran");
        assert_eq!(output.status.code(), Some(125), "{session}: {}", text(&output.stderr));
        assert!(!space.at("ws/ran").exists());
    }
    space.outside_is_untouched();
}

#[test]
fn a_folder_of_somebody_else_is_not_used() {
    let Some(space) = Space::new() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = space.at("sessions/one");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
    let output = space.run("one", &json!({}), "true");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("not the user's own"), "{}", text(&output.stderr));
}

#[test]
fn a_workspace_below_tmp_gets_a_tmp_of_its_own_each_time() {
    let Some(space) = Space::new() else { return };
    let inside = tempfile::tempdir_in("/tmp").unwrap();
    let above = fs::canonicalize(inside.path()).unwrap();
    if !above.starts_with("/tmp") {
        return;
    }
    let ws = above.join("ws");
    fs::create_dir(&ws).unwrap();
    // A link in kept files where the next run would make the folders above its workspace.
    let name = above.file_name().unwrap().to_str().unwrap();
    space.says("one", &format!("ln -s {} /tmp/{name}; touch /tmp/f", space.at("outside").display()));
    let more = json!({"workspace": [ws], "cwd": ws});
    let output = space.run("one", &more, "echo x > y; ls -A /tmp");
    assert_eq!(text(&output.stdout).trim(), name, "{}", text(&output.stderr));
    assert!(ws.join("y").exists());
    space.outside_is_untouched();
}

#[test]
fn too_much_in_a_kept_folder_is_emptied_before_the_next_run_and_no_link_is_followed() {
    let Some(space) = Space::new() else { return };
    let outside = space.at("outside").display().to_string();
    space.says(
        "one",
        &format!("ln -s {outside} /tmp/link; mkdir /tmp/a; ln -s {outside}/file /tmp/a/b; dd if=/dev/zero of=/tmp/big bs=1M count=3 2>&1; echo k > ~/.cache/k"),
    );
    let output = space.run("one", &json!({"limits": {"temp": 1 << 20}}), "ls -A /tmp ~/.cache");
    let told = text(&output.stderr);
    assert!(told.contains("/tmp of this session had more in it than it may keep: it was emptied"), "{told}");
    assert!(!text(&output.stdout).contains("big") && text(&output.stdout).contains('k'), "{output:?}");
    space.outside_is_untouched();
}

#[test]
fn a_command_that_fills_a_kept_folder_is_ended() {
    let Some(space) = Space::new() else { return };
    let script = "dd if=/dev/zero of=/tmp/big bs=1M count=3 2>&1; exec sleep 600";
    let output = space.run("one", &json!({"limits": {"temp": 1 << 20}}), script);
    assert_eq!(output.status.code(), Some(124));
    let told = text(&output.stderr);
    assert!(
        told.contains("it kept more than 1 MiB, 200000 files or 128 folders in each other in /tmp"),
        "{told}"
    );
}

#[test]
fn a_session_is_removed_however_deep_or_closed_its_folders_are() {
    let Some(space) = Space::new() else { return };
    let outside = space.at("outside").display().to_string();
    let script = format!(
        "top=$PWD; i=0; while [ $i -lt 300 ]; do mkdir -p d/d/d/d/d/d/d/d; cd -P d/d/d/d/d/d/d/d 2>/dev/null || exit 1; i=$((i+1)); done; touch end; \
         cd \"$top\"; mkdir c; ln -s {outside} c/link; mkdir c/closed; touch c/closed/x; chmod 0 c/closed c; ln -s {outside}/file file"
    );
    space.says("one", "true");
    let folder = space.at("sessions/one");
    // Made beside the runner, which ends a command that makes folders so deep if it takes long enough to be looked at.
    let made = Command::new("sh").args(["-c", &script]).current_dir(folder.join("tmp")).status().unwrap();
    assert!(made.success());
    remove_kept(&folder).unwrap();
    assert!(!folder.exists());
    space.outside_is_untouched();
}

#[test]
fn sessions_that_were_not_used_for_long_go_and_one_in_use_stays() {
    let Some(space) = Space::new() else { return };
    let day = Duration::from_hours(24);
    for session in ["old", "new", "busy"] {
        space.says(session, "echo x > /tmp/f");
    }
    let fifo = space.at("ws/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let Ok(running) = std::thread::scope(|scope| {
        let run = std::thread::Builder::new()
            .spawn_scoped(scope, || space.says("busy", "cat fifo; cat /tmp/f"))
            .unwrap();
        // Opens once the command reads: it is running now.
        let mut hold = fs::OpenOptions::new().write(true).open(&fifo).unwrap();
        age(&space.at("sessions/old"), 25);
        age(&space.at("sessions/busy"), 25);
        age(&space.at("sessions/new"), 23);
        tidy_kept(&space.at("sessions"), day);
        hold.write_all(b"go ").unwrap();
        drop(hold);
        run.join()
    }) else {
        panic!("the run failed")
    };
    assert_eq!(running, "go x\n");
    assert!(!space.at("sessions/old").exists() && space.at("sessions/new").exists());
    assert!(space.at("sessions/busy").exists(), "it is in use");
    tidy_kept(&space.at("sessions"), day);
    assert!(!space.at("sessions/busy").exists(), "it is not in use any more");
}

#[test]
fn the_oldest_of_too_many_sessions_go() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..35_u64 {
        let session = folder.path().join(format!("s{number}"));
        fs::create_dir(&session).unwrap();
        fs::set_permissions(&session, fs::Permissions::from_mode(0o700)).unwrap();
        age(&session, number / 2);
    }
    tidy_kept(folder.path(), Duration::from_hours(24));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 32);
    assert!(folder.path().join("s0").exists() && !folder.path().join("s34").exists());
}
