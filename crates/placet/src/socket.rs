//! The owner's socket in the data folder: keys, sign-in links and passwords can be made while a server has the database,
//! by whoever owns the folder.

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

/// What the owner may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Asked {
    /// A key.
    Key(KeyRequest),
    /// A link to sign in with.
    Link(LinkRequest),
    /// A password to sign in with.
    Password(PasswordRequest),
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
pub(crate) enum KeyAnswer {
    /// The key, shown once.
    Made { id: String, key: String },
    /// The link, shown once: its whole address, or its path where nobody knows the rest.
    Link { url: String, expires_at: Time },
    /// The password is set.
    Set,
    /// Why not.
    Refused(String),
}

const NAME: &str = "placet.sock";
const PATIENCE: Duration = Duration::from_secs(10);

/// The address of the socket. Socket addresses are short; a long folder is reached through its open handle.
fn address(data: &Path) -> std::io::Result<(PathBuf, Option<std::fs::File>)> {
    let direct = data.join(NAME);
    if direct.as_os_str().len() < 100 {
        return Ok((direct, None));
    }
    let folder = std::fs::File::open(data)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd())), Some(folder)))
}

/// Answers the owner until the server closes.
pub(crate) async fn serve(data: PathBuf, gate: Gate, url: String, cancel: CancellationToken) {
    let listener = match listen(&data) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%error, "no socket for `placet key new` in the data folder");
            return;
        }
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if tokio::time::timeout(PATIENCE, answer(stream, &gate, &url)).await.is_err() {
                        tracing::warn!("somebody held the owner's socket open without asking");
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
    let _ = std::fs::remove_file(data.join(NAME));
}

fn listen(data: &Path) -> std::io::Result<UnixListener> {
    let (address, _folder) = address(data)?;
    // Left behind by a server that was killed; the lock on the folder says that none is running.
    let _ = std::fs::remove_file(data.join(NAME));
    let listener = UnixListener::bind(&address)?;
    std::fs::set_permissions(data.join(NAME), std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn answer(stream: UnixStream, gate: &Gate, url: &str) {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    // A password of 1,024 control characters takes six bytes for each.
    if BufReader::new(read.take(8192)).read_line(&mut line).await.is_err() {
        return;
    }
    let answer = match serde_json::from_str::<Asked>(&line) {
        Ok(request) => make(gate, url, request).await,
        Err(error) => KeyAnswer::Refused(error.to_string()),
    };
    if let Ok(mut text) = serde_json::to_vec(&answer) {
        text.push(b'\n');
        let _ = write.write_all(&text).await;
    }
}

/// Makes a key or a link, or sets a password, on the owner's behalf.
pub(crate) async fn make(gate: &Gate, url: &str, request: Asked) -> KeyAnswer {
    let request = match request {
        Asked::Key(request) => request,
        Asked::Link(LinkRequest { link }) => {
            return match gate.create_link(&Actor::system(), &link).await {
                Ok(made) => KeyAnswer::Link {
                    url: format!("{url}/sign-in/{}", made.token),
                    expires_at: made.expires_at,
                },
                Err(error) => KeyAnswer::Refused(error.to_string()),
            };
        }
        Asked::Password(PasswordRequest { person, password }) => {
            return match gate.reset_password(&Actor::system(), &person, &password).await {
                Ok(()) => KeyAnswer::Set,
                Err(error) => KeyAnswer::Refused(error.to_string()),
            };
        }
    };
    let new = NewKey { role: request.role, name: request.name, owner: request.owner };
    match gate.create_key(&Actor::system(), new, None).await {
        Ok(made) => KeyAnswer::Made { id: made.id.to_string(), key: made.secret.unwrap_or_default() },
        Err(error) => KeyAnswer::Refused(error.to_string()),
    }
}

/// Asks a running server, if there is one.
pub(crate) async fn ask(data: &Path, request: &Asked) -> anyhow::Result<Option<KeyAnswer>> {
    let Ok((address, _folder)) = address(data) else { return Ok(None) };
    let Ok(stream) = UnixStream::connect(&address).await else { return Ok(None) };
    let (read, mut write) = stream.into_split();
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    write.write_all(&text).await.context("the running server does not listen")?;
    let mut line = String::new();
    let said = tokio::time::timeout(PATIENCE, BufReader::new(read).read_line(&mut line)).await;
    said.context("the running server does not answer")??;
    Ok(Some(serde_json::from_str(&line).context("the running server answered something else")?))
}
