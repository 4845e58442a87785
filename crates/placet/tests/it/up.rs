//! `placet up` as a person starts it: a home of its own, a browser that takes the link, and what can go wrong.

use std::{
    cell::RefCell,
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, Receiver},
};

use placet_testkit::Signer;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{MINUTE, binary, found, send};

/// A person's home, with programs that stand in for a browser and for the managers of users and services.
struct Home {
    folder: TempDir,
    port: u16,
}

/// A program of the system that notes its arguments, and ends with this code.
const NOTES: &str = "#!/bin/sh\necho \"${0##*/} $*\" >> \"$NOTES\"\n";

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        // Free on both loopback addresses a moment ago, which is enough: no other test asks for this port.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).expect("a port").port();
        Self { folder, port }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("share/placet")
    }

    /// Puts a program in front of those of the system.
    fn program(&self, name: &str, text: &str) {
        let file = self.path("bin").join(name);
        fs::write(&file, text).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it may run");
    }

    /// What the stand-ins were called with.
    fn notes(&self) -> String {
        fs::read_to_string(self.path("notes")).unwrap_or_default()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.args(args).env_clear().env("PATH", path).env("HOME", self.folder.path());
        command.env("XDG_DATA_HOME", self.path("share")).env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_CONFIG_HOME", self.path("config")).env("NOTES", self.path("notes"));
        command.stdin(Stdio::null());
        command
    }

    fn listen(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `placet up` on this home's port, running.
    fn up(&self, args: &[&str]) -> Up {
        let listen = self.listen();
        let mut command = self.command(&[&["--json", "up", "--listen", &listen], args].concat());
        Up::start(&mut command)
    }

    /// `placet up` that ends.
    fn ends(&self, args: &[&str]) -> Output {
        self.command(&[&["up"], args].concat()).output().expect("it runs")
    }
}

/// A running `placet up`. Stops when dropped.
struct Up {
    child: Child,
    lines: Receiver<String>,
    errors: RefCell<Option<std::process::ChildStderr>>,
}

impl Up {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (send, lines) = mpsc::channel();
        let out = child.stdout.take().expect("a pipe");
        let errors = RefCell::new(child.stderr.take());
        std::thread::Builder::new()
            .spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            })
            .expect("a thread");
        Self { child, lines, errors }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(MINUTE).unwrap_or_else(|_| {
            let mut said = String::new();
            let errors = self.errors.borrow_mut().take();
            let _ = errors.map(|mut errors| errors.read_to_string(&mut said));
            panic!("it says nothing: {said}")
        })
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).expect("JSON")
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Uses a link. Returns who is signed in.
fn use_link(link: &str) -> Option<Value> {
    let (url, token) = link.split_once("/sign-in/").expect("a link");
    let host = url.strip_prefix("http://").expect("an address");
    let body = json!({"token": token, "key": Signer::default().key()}).to_string();
    let mut stream = TcpStream::connect(host).expect("the server listens");
    write!(
        stream,
        "POST /v1/session/link HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    head.starts_with("HTTP/1.1 200").then(|| serde_json::from_str(body).expect("JSON"))
}

#[test]
fn up_serves_data_of_this_person_and_its_link_signs_in_once() {
    let home = Home::new();
    let up = home.up(&[]);
    let ready = up.json();
    assert_eq!((&ready["event"], &ready["opened"]), (&json!("ready"), &json!(false)), "{ready}");
    assert_eq!(ready["data"].as_str(), home.data().to_str());
    assert_eq!(fs::metadata(home.data()).expect("a folder").permissions().mode() & 0o777, 0o700);
    assert!(
        ready["policy"].as_str().is_some_and(|policy| policy.starts_with("preset:coding-agent")),
        "{ready}"
    );
    let link = ready["sign_in"].as_str().expect("a link");
    let person = use_link(link).expect("it works");
    assert_eq!((&person["name"], &person["roles"]), (&json!("admin"), &json!(["reviewer", "admin"])));
    assert_eq!(use_link(link), None, "once");
    // Commands of the same person find the data without naming it.
    let made =
        home.command(&["key", "new", "--role", "agent", "--name", "claude"]).output().expect("it runs");
    assert!(made.status.success() && text(&made.stdout).starts_with("plk_agent_"), "{}", text(&made.stderr));
}

#[test]
fn sigterm_and_ctrl_c_end_up_and_the_data_is_there_at_the_next_start() {
    let home = Home::new();
    for (round, signal) in [Signal::TERM, Signal::INT].into_iter().enumerate() {
        let mut up = home.up(&[]);
        let link = up.json()["sign_in"].as_str().expect("a link").to_owned();
        assert!(use_link(&link).is_some(), "round {round}");
        send(&up.child, signal);
        assert!(up.child.wait().expect("it ends").success(), "{signal:?}");
    }
}

#[test]
fn a_second_up_opens_the_one_that_runs_and_starts_no_other() {
    let home = Home::new();
    let up = home.up(&[]);
    let ready = up.json();
    for args in [&["--json", "up"][..], &["--json", "up", "--no-browser", "--listen", "127.0.0.1:1"]] {
        let second = home.command(args).output().expect("it runs");
        assert!(second.status.success(), "{}", text(&second.stderr));
        let said: Value = serde_json::from_slice(&second.stdout).expect("JSON");
        assert_eq!((&said["event"], &said["url"]), (&json!("running"), &ready["url"]), "{said}");
        assert_eq!(use_link(said["sign_in"].as_str().expect("a link")).expect("it works")["name"], "admin");
    }
    // In words, for people.
    let second = home.ends(&[]);
    let said = text(&second.stdout);
    assert!(said.contains("Placet runs already") && said.contains("/sign-in/"), "{said}");
    let nobody = home.ends(&["--as", "nobody"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(text(&nobody.stderr).contains("no such person"), "{}", text(&nobody.stderr));
}

#[test]
fn the_browser_gets_a_file_with_the_link_and_never_the_link_as_an_argument() {
    let home = Home::new();
    home.program("xdg-open", &format!("{NOTES}cp \"$1\" \"$NOTES.page\"\n"));
    let listen = home.listen();
    let mut command = home.command(&["--json", "up", "--listen", &listen]);
    let up = Up::start(command.env("DISPLAY", ":0"));
    let ready = up.json();
    assert_eq!((&ready["opened"], &ready["sign_in"]), (&json!(true), &Value::Null), "{ready}");
    let notes = home.notes();
    assert!(notes.starts_with("xdg-open ") && !notes.contains("sign-in"), "{notes}");
    let page = fs::read_to_string(home.path("notes.page")).expect("the page");
    let (_, rest) = page.split_once("url=").expect("where it leads");
    let link = rest.split('"').next().expect("a link");
    assert!(use_link(link).is_some(), "{link}");
    // A browser that fails is no browser.
    home.program("xdg-open", "#!/bin/sh\nexit 3\n");
    let second = home.command(&["--json", "up"]).env("DISPLAY", ":0").output().expect("it runs");
    let said: Value = serde_json::from_slice(&second.stdout).expect("JSON");
    assert_eq!(said["opened"], json!(false));
    assert!(said["sign_in"].is_string(), "{said}");
}

#[test]
fn a_port_of_another_program_is_refused_and_so_is_a_placet_with_other_data() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = home.ends(&["--listen", &address]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(
        said.contains(&address) && said.contains("another program") && said.contains("--listen"),
        "{said}"
    );

    let stranger = Home::new();
    let running = stranger.up(&[]);
    running.json();
    let refused = home.ends(&["--listen", &stranger.listen()]);
    let said = text(&refused.stderr);
    assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("a Placet with other data") && !said.contains("/sign-in/"), "{said}");
}

#[test]
fn without_a_home_and_with_a_folder_that_cannot_be_used_the_error_says_what_to_do() {
    let home = Home::new();
    let homeless =
        home.command(&["up"]).env_remove("HOME").env_remove("XDG_DATA_HOME").output().expect("it runs");
    assert_eq!(homeless.status.code(), Some(2));
    assert!(text(&homeless.stderr).contains("set HOME or XDG_DATA_HOME"), "{}", text(&homeless.stderr));

    fs::write(home.path("file"), "").expect("written");
    let file = home.ends(&["--data", home.path("file").to_str().expect("text")]);
    assert!(text(&file.stderr).contains("is not a folder"), "{}", text(&file.stderr));
    let listen = home.listen();
    let below = home.ends(&["--listen", &listen, "--data", home.path("file/data").to_str().expect("text")]);
    assert!(!below.status.success());
    assert!(text(&below.stderr).contains("cannot use the data folder"), "{}", text(&below.stderr));

    fs::create_dir_all(home.data()).expect("a folder");
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o755)).expect("set");
    let open = home.ends(&[]);
    assert_eq!(open.status.code(), Some(2));
    assert!(text(&open.stderr).contains("chmod 700"), "{}", text(&open.stderr));
}

#[test]
fn a_folder_of_a_newer_version_is_left_as_it_is() {
    let home = Home::new();
    let mut up = home.up(&[]);
    up.json();
    send(&up.child, Signal::TERM);
    up.child.wait().expect("it ends");
    let database = home.data().join("placet.db");
    // The format is a number in the head of the file.
    let mut bytes = fs::read(&database).expect("the database");
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&database, bytes).expect("written");
    let refused = home.ends(&["--listen", &home.listen()]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("9999") && said.contains("newer"), "{said}");
}

#[test]
fn a_policy_that_was_put_later_stays_at_the_next_start() {
    let home = Home::new();
    let mut up = home.up(&[]);
    let url = up.json()["url"].as_str().expect("an address").to_owned();
    let made = home.command(&["key", "new", "--role", "admin", "--name", "root"]).output().expect("it runs");
    let key = text(&made.stdout).trim().to_owned();
    let policy = home.path("mine.toml");
    fs::write(&policy, "version = 1\nname = \"mine\"\n").expect("written");
    let put = home
        .command(&["policy", "put", policy.to_str().expect("text")])
        .env("PLACET_URL", &url)
        .env("PLACET_TOKEN", &key)
        .output()
        .expect("it runs");
    assert!(put.status.success(), "{}", text(&put.stderr));
    send(&up.child, Signal::TERM);
    up.child.wait().expect("it ends");
    drop(up);
    let again = home.up(&[]).json();
    assert!(again["policy"].as_str().is_some_and(|policy| policy.starts_with("mine")), "{again}");
}

#[test]
fn the_three_commands_of_the_readme_end_with_a_permit() {
    let readme = include_str!("../../../../README.md");
    let (_, rest) = readme.split_once("Three commands to the first yes:\n\n```\n").expect("they are there");
    let (commands, _) = rest.split_once("```").expect("they end");
    let [first, key, ask] = commands.lines().collect::<Vec<_>>()[..] else { panic!("three: {commands}") };
    assert_eq!(first.split_whitespace().take(3).collect::<Vec<_>>(), ["placet", "up", "#"], "{first}");
    let home = Home::new();
    let up = home.up(&[]);
    let url = up.json()["url"].as_str().expect("an address").to_owned();
    let bin = Path::new(binary()).parent().expect("a folder");
    let mut agent = home.command(&[]);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut shell = Command::new("bash");
    shell.args(["-ec", &format!("{key}\n{ask}")]).env_clear();
    shell.envs(agent.env("PATH", path).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let asking = shell.env("PLACET_URL", &url).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let asking = asking.expect("a shell");
    let made =
        home.command(&["key", "new", "--role", "reviewer", "--name", "ann"]).output().expect("it runs");
    let reviewer = text(&made.stdout).trim().to_owned();
    let as_ann = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("PLACET_URL", &url).env("PLACET_TOKEN", &reviewer).output().expect("it runs")
    };
    let id = found("the request", || {
        let inbox: Value = serde_json::from_slice(&as_ann(&["--json", "inbox"]).stdout).ok()?;
        inbox["items"][0]["id"].as_str().map(str::to_owned)
    });
    let approved = as_ann(&["approve", &id, "--yes"]);
    assert!(approved.status.success(), "{}", text(&approved.stderr));
    let ended = asking.wait_with_output().expect("it ends");
    let said = text(&ended.stdout);
    assert!(ended.status.success() && said.contains("permit prm_"), "{said}{}", text(&ended.stderr));
    assert!(said.contains(r#"arguments {"files":["report.md"]}"#), "{said}");
}

/// The words of the command line in a unit.
fn command_of(unit: &str) -> Vec<String> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    line.trim_matches('"').split("\" \"").map(str::to_owned).collect()
}

#[test]
fn at_login_writes_a_service_that_runs_and_not_at_login_takes_it_back() {
    let home = Home::new();
    home.program("systemctl", &format!("{NOTES}exit 1\n"));
    let listen = home.listen();
    let unreached = home.ends(&["--at-login", "--listen", &listen]);
    assert!(!unreached.status.success());
    assert!(text(&unreached.stdout).contains("systemctl --user enable"), "{}", text(&unreached.stdout));

    home.program("systemctl", NOTES);
    let unit = home.path("config/systemd/user/placet.service");
    let command = command_of(&fs::read_to_string(&unit).expect("the unit"));
    assert_eq!(Path::new(&command[0]), Path::new(binary()));
    // What systemd would run.
    let words: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    let service = Up::start(&mut home.command(&words));
    assert!(service.line().starts_with("listening on http://127.0.0.1:"));
    let installed = home.ends(&["--at-login", "--listen", &listen, "--no-browser"]);
    let said = text(&installed.stdout);
    assert!(
        installed.status.success() && said.contains("/sign-in/") && said.contains("--not-at-login"),
        "{said}"
    );
    for call in ["--user daemon-reload", "--user enable placet.service", "--user restart placet.service"] {
        assert!(home.notes().contains(call), "{call}: {}", home.notes());
    }
    let mut rest = service;
    send(&rest.child, Signal::TERM);
    rest.child.wait().expect("it ends");
    assert!(rest.lines.try_iter().all(|line| !line.contains("/sign-in/")), "a log has no link");

    let removed = home.ends(&["--not-at-login"]);
    assert!(removed.status.success() && !unit.exists(), "{}", text(&removed.stderr));
    assert!(home.notes().contains("--user disable --now placet.service"), "{}", home.notes());
    assert!(home.data().join("placet.db").exists(), "the data stays");
    assert!(text(&home.ends(&["--not-at-login"]).stdout).contains("no service"));

    fs::create_dir_all(unit.parent().expect("a folder")).expect("a folder");
    fs::write(&unit, "[Service]\nExecStart=/bin/true\n").expect("written");
    for args in [&["--not-at-login"][..], &["--at-login"]] {
        let refused = home.ends(args);
        assert!(text(&refused.stderr).contains("left as it is"), "{args:?}: {}", text(&refused.stderr));
    }
    assert!(fs::read_to_string(&unit).expect("the unit").contains("/bin/true"));
}

#[test]
fn own_user_writes_a_system_service_for_a_user_that_is_made_once() {
    let home = Home::new();
    let root = home.path("root");
    let me = rustix::process::geteuid().as_raw();
    // The user is missing until `useradd` was called.
    home.program("id", &format!("#!/bin/sh\n[ -e \"$NOTES.made\" ] || exit 1\necho {me}\n"));
    home.program("useradd", &format!("{NOTES}touch \"$NOTES.made\"\n"));
    home.program("systemctl", NOTES);
    let root_text = root.to_str().expect("text");
    for round in 0..2 {
        let installed = home.ends(&["--own-user", "--root", root_text]);
        let said = text(&installed.stdout);
        assert!(installed.status.success(), "round {round}: {said}{}", text(&installed.stderr));
        assert!(said.contains("an agent of yours cannot read its files"), "{said}");
    }
    let notes = home.notes();
    assert_eq!(notes.matches("useradd --system").count(), 1, "{notes}");
    assert!(notes.contains("systemctl enable placet.service"), "{notes}");
    let data = root.join("var/lib/placet");
    assert_eq!(fs::metadata(data).expect("a folder").permissions().mode() & 0o777, 0o700);
    let unit = root.join("etc/systemd/system/placet.service");
    let written = fs::read_to_string(&unit).expect("the unit");
    assert!(written.contains("\nUser=placet\n") && written.contains("\nProtectHome=yes\n"), "{written}");
    let command = command_of(&written);
    assert!(!command[0].starts_with("/home") && command[1..3] == ["up", "--service"], "{command:?}");
    let removed = home.ends(&["--own-user", "--not-at-login", "--root", root_text]);
    assert!(removed.status.success() && !unit.exists(), "{}", text(&removed.stderr));
    assert!(root.join("var/lib/placet").exists(), "the data stays");
}

#[test]
fn one_start_of_two_at_the_same_moment_serves_and_the_other_opens_it() {
    let home = Home::new();
    let (one, other) = (home.up(&["--no-browser"]), home.up(&["--no-browser"]));
    let mut said = [one.json(), other.json()];
    said.sort_by_key(|line| line["event"].as_str().map(str::to_owned));
    assert_eq!((&said[0]["event"], &said[1]["event"]), (&json!("ready"), &json!("running")), "{said:?}");
    assert_eq!(said[0]["url"], said[1]["url"]);
}
