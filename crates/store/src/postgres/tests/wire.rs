//! A wire to the database that can be cut, in every way that a network has.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// What the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Everything passes.
    Open,
    /// Answers are lost.
    Mute,
    /// Questions are lost.
    Deaf,
    /// The node's side is cut; the database does not learn of it.
    Orphan,
    /// Both sides are cut and new connections refused: the database is down.
    Down,
}

/// What the wire has done to connections, so that a test can wait for it.
#[derive(Debug, Default)]
pub(super) struct Damage {
    lost: AtomicU32,
    refused: AtomicU32,
    orphaned: AtomicU32,
}

impl Damage {
    /// Questions that were lost.
    pub(super) fn lost(&self) -> u32 {
        self.lost.load(Ordering::SeqCst)
    }

    /// Connections that were refused.
    pub(super) fn refused(&self) -> u32 {
        self.refused.load(Ordering::SeqCst)
    }

    /// Connections of which the database does not know that they are over.
    pub(super) fn orphaned(&self) -> u32 {
        self.orphaned.load(Ordering::SeqCst)
    }
}

/// A wire from a port of its own to the database.
pub(super) struct Wire {
    pub(super) port: u16,
    pub(super) damage: Arc<Damage>,
    mode: watch::Sender<Mode>,
    // Ends with the test.
    _tasks: JoinSet<()>,
}

impl Wire {
    pub(super) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (mode, modes) = watch::channel(Mode::Open);
        let damage = Arc::new(Damage::default());
        let (mut tasks, counted) = (JoinSet::new(), damage.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                // Dropped at once when down: as good as refused.
                if *modes.borrow() == Mode::Down {
                    counted.refused.fetch_add(1, Ordering::SeqCst);
                } else {
                    connections.spawn(carry(near, port, modes.clone(), counted.clone()));
                }
            }
        });
        Self { port: own, damage, mode, _tasks: tasks }
    }

    pub(super) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

async fn carry(mut near: TcpStream, port: u16, mut modes: watch::Receiver<Mode>, damage: Arc<Damage>) {
    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let (mut question, mut answer) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let mode = *modes.borrow_and_update();
        match mode {
            Mode::Down => return,
            Mode::Orphan => {
                drop(near);
                damage.orphaned.fetch_add(1, Ordering::SeqCst);
                // The database keeps a connection to nobody.
                return std::future::pending().await;
            }
            _ => {}
        }
        tokio::select! {
            biased;
            _ = modes.changed() => {}
            read = near.read(&mut question) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) if mode == Mode::Deaf => {
                    damage.lost.fetch_add(1, Ordering::SeqCst);
                }
                Ok(count) => if far.write_all(&question[..count]).await.is_err() { return },
            },
            read = far.read(&mut answer) => match read {
                Ok(0) | Err(_) => return,
                Ok(_) if mode == Mode::Mute => {}
                Ok(count) => if near.write_all(&answer[..count]).await.is_err() { return },
            },
        }
    }
}
