//! The owner's socket in the data folder. Through it, the owner of the folder makes keys, sign-in links and passwords
//! while a server has the database open.

use std::{
    fmt,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use placet_core::{Actor, Role, Time};
use placet_gate::{Gate, NewKey};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
};
use tokio_util::sync::CancellationToken;

/// The requests of the owner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum OwnerRequest {
    /// A key.
    Key(KeyRequest),
    /// A link to sign in with.
    Link(LinkRequest),
    /// A password to sign in with.
    Password(PasswordRequest),
    /// Folders to open to an agent.
    Roots(RootsRequest),
    /// A mark for an agent.
    Confine(ConfineRequest),
}

/// A mark for an agent: its hook program may be told to run calls confined.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConfineRequest {
    /// Which agent, by its name or by one of its keys.
    pub(crate) agent: String,
    /// Whether it may.
    pub(crate) confine: bool,
}

/// Folders to open to an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RootsRequest {
    /// Which agent, by its name or by one of its keys.
    pub(crate) agent: String,
    /// All folders, or only the new ones if they are added.
    pub(crate) roots: Vec<String>,
    /// Whether the open folders stay open.
    pub(crate) add: bool,
}

/// A password to sign in with.
#[derive(Serialize, Deserialize)]
pub(crate) struct PasswordRequest {
    /// Whose.
    pub(crate) person: String,
    /// The new one.
    pub(crate) password: String,
}

impl fmt::Debug for PasswordRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordRequest").field("person", &self.person).finish_non_exhaustive()
    }
}

/// A link to sign in with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LinkRequest {
    /// For whom.
    pub(crate) link: String,
}

/// A key.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeyRequest {
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) owner: Option<String>,
}

/// What comes back.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum OwnerAnswer {
    /// The key, shown once.
    Made { id: String, key: String },
    /// The link, shown once: its whole address, or its path if the address is unknown.
    Link { url: String, expires_at: Time },
    /// The password is set.
    Set,
    /// The folders that are open now.
    Roots { agent: String, roots: Vec<String> },
    /// Whether the agent is marked now.
    Confine { agent: String, confine: bool },
    /// Why not.
    Refused(String),
}

const NAME: &str = "placet.sock";
const PATIENCE: Duration = Duration::from_secs(10);

/// The path of the socket. Socket paths are short, so a long folder is reached through its open handle.
fn address(data: &Path) -> std::io::Result<(PathBuf, Option<std::fs::File>)> {
    let direct = data.join(NAME);
    if direct.as_os_str().len() < 100 {
        return Ok((direct, None));
    }
    let folder = std::fs::File::open(data)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd())), Some(folder)))
}

/// The socket of a running server. Once it is bound, requests wait here until they are answered.
#[derive(Debug)]
pub(crate) struct OwnerSocket {
    data: PathBuf,
    listener: UnixListener,
}

impl OwnerSocket {
    /// Binds it. The caller holds the lock on the folder.
    pub(crate) fn bind(data: PathBuf) -> std::io::Result<Self> {
        let (address, _folder) = address(&data)?;
        // Left behind by a killed server. The lock on the folder shows that none is running.
        let _ = std::fs::remove_file(data.join(NAME));
        let listener = UnixListener::bind(&address)?;
        std::fs::set_permissions(data.join(NAME), std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { data, listener })
    }

    /// Answers the owner until the server closes.
    pub(crate) async fn serve(self, gate: Gate, url: String, cancel: CancellationToken) {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        if tokio::time::timeout(PATIENCE, answer(stream, &gate, &url)).await.is_err() {
                            tracing::warn!("a client of the owner's socket sent no request in time");
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the owner's socket cannot accept");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                () = cancel.cancelled() => break,
            }
        }
        let _ = std::fs::remove_file(self.data.join(NAME));
    }
}

async fn answer(stream: UnixStream, gate: &Gate, url: &str) {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    // A password of 1,024 control characters takes six bytes for each.
    if BufReader::new(read.take(8192)).read_line(&mut line).await.is_err() {
        return;
    }
    let answer = match serde_json::from_str::<OwnerRequest>(&line) {
        Ok(request) => make(gate, url, request).await,
        Err(error) => OwnerAnswer::Refused(error.to_string()),
    };
    if let Ok(mut text) = serde_json::to_vec(&answer) {
        text.push(b'\n');
        let _ = write.write_all(&text).await;
    }
}

/// The name of an agent, given its name or one of its keys.
async fn named(gate: &Gate, agent: String) -> String {
    let by_key = gate.authenticate(&agent).await.ok().flatten().filter(|actor| actor.role == Role::Agent);
    by_key.map_or(agent, |actor| actor.name)
}

/// Makes a key or a link, or sets a password, for the owner.
pub(crate) async fn make(gate: &Gate, url: &str, request: OwnerRequest) -> OwnerAnswer {
    let request = match request {
        OwnerRequest::Key(request) => request,
        OwnerRequest::Link(LinkRequest { link }) => {
            return match gate.create_link(&Actor::system(), &link, None).await {
                Ok(made) => OwnerAnswer::Link {
                    url: format!("{url}/sign-in/{}", made.token.unwrap_or_default()),
                    expires_at: made.expires_at,
                },
                Err(error) => OwnerAnswer::Refused(error.to_string()),
            };
        }
        OwnerRequest::Password(PasswordRequest { person, password }) => {
            return match gate.reset_password(&Actor::system(), &person, &password).await {
                Ok(()) => OwnerAnswer::Set,
                Err(error) => OwnerAnswer::Refused(error.to_string()),
            };
        }
        OwnerRequest::Confine(ConfineRequest { agent, confine }) => {
            let agent = named(gate, agent).await;
            return match gate.put_confine(&Actor::system(), &agent, confine).await {
                Ok(view) => OwnerAnswer::Confine { agent: view.name, confine: view.confine },
                Err(error) => OwnerAnswer::Refused(error.to_string()),
            };
        }
        OwnerRequest::Roots(RootsRequest { agent, roots, add }) => {
            let agent = named(gate, agent).await;
            return match gate.put_roots(&Actor::system(), &agent, roots, add).await {
                Ok(view) => OwnerAnswer::Roots { agent: view.name, roots: view.roots },
                Err(error) => OwnerAnswer::Refused(error.to_string()),
            };
        }
    };
    let new = NewKey { role: request.role, name: request.name, owner: request.owner };
    match gate.create_key(&Actor::system(), new, None).await {
        Ok(made) => OwnerAnswer::Made { id: made.id.to_string(), key: made.secret.unwrap_or_default() },
        Err(error) => OwnerAnswer::Refused(error.to_string()),
    }
}

/// The result of asking.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A running server answered.
    Answered(OwnerAnswer),
    /// No server could be asked, and why. There may still be one.
    NotAsked(std::io::Error),
}

/// Asks a running server, if there is one.
pub(crate) async fn ask(data: &Path, request: &OwnerRequest) -> anyhow::Result<Reply> {
    ask_within(PATIENCE, data, request).await
}

async fn ask_within(patience: Duration, data: &Path, request: &OwnerRequest) -> anyhow::Result<Reply> {
    let connected = match address(data) {
        Ok((address, _folder)) => UnixStream::connect(&address).await,
        Err(error) => Err(error),
    };
    let stream = match connected {
        Ok(stream) => stream,
        Err(error) => return Ok(Reply::NotAsked(error)),
    };
    let server = format!("the server that uses {}", data.display());
    let (read, mut write) = stream.into_split();
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    write.write_all(&text).await.with_context(|| format!("{server} closed its socket"))?;
    let mut line = String::new();
    let read = tokio::time::timeout(patience, BufReader::new(read).read_line(&mut line)).await;
    let silent = || {
        format!(
            "{server} accepted the request and did not answer within {} s: see its log",
            patience.as_secs()
        )
    };
    read.with_context(silent)?.with_context(|| format!("{server} closed its socket"))?;
    anyhow::ensure!(!line.is_empty(), "{server} closed its socket without an answer: see its log");
    let answer =
        serde_json::from_str(&line).with_context(|| format!("{server} gave an unexpected answer"))?;
    Ok(Reply::Answered(answer))
}

/// Why data that another program holds cannot be used, and what to do.
pub(crate) fn in_use(folder: &str, not_asked: Option<&std::io::Error>) -> String {
    let Some(error) = not_asked else {
        return format!("another program is using {folder}: try again when it is done");
    };
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        return format!(
            "a server is using {folder}, and its socket there is closed to this user: run this as the user that runs the server"
        );
    }
    format!(
        "another program is using {folder}, and no server answers on {NAME} there ({error}). A server that starts or stops \
         has no socket: try again. If that does not help, the server's log says why it has none"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> OwnerRequest {
        OwnerRequest::Link(LinkRequest { link: "ann".to_owned() })
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        // Bound, but not accepting: the connection waits in the queue.
        let _socket = OwnerSocket::bind(folder.path().to_owned()).unwrap();
        let error = ask_within(Duration::ZERO, folder.path(), &request()).await.unwrap_err().to_string();
        let folder = folder.path().display();
        assert_eq!(
            error,
            format!(
                "the server that uses {folder} accepted the request and did not answer within 0 s: see its log"
            )
        );
    }

    #[tokio::test]
    async fn a_server_that_goes_away_while_it_is_asked_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let socket = OwnerSocket::bind(folder.path().to_owned()).unwrap();
        let (path, request) = (folder.path().to_owned(), request());
        let (asked, ()) = tokio::join!(ask(&path, &request), async move {
            let (stream, _) = socket.listener.accept().await.unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).await.unwrap();
        });
        let error = asked.unwrap_err().to_string();
        assert!(error.ends_with("closed its socket without an answer: see its log"), "{error}");
    }

    #[tokio::test]
    async fn a_folder_without_a_socket_is_not_asked_and_the_sentence_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let Reply::NotAsked(error) = ask(folder.path(), &request()).await.unwrap() else {
            panic!("nobody is there to answer")
        };
        let sentence = in_use("/data", Some(&error));
        assert!(sentence.contains("No such file") && sentence.contains("try again"), "{sentence}");
        assert!(!sentence.contains("run this as the user"), "{sentence}");
        let closed = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        assert!(in_use("/data", Some(&closed)).contains("run this as the user that runs the server"));
    }
}
