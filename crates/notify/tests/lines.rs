//! Connections that are made while an answer is being committed: they carry what was committed, or nothing.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use placet_core::{Actor, AllOf, DecisionWord, Seat};
use placet_egress::{Limits, Resolve, ResolveFuture, Rules, Sockets};
use placet_gate::{Channel, Notice, SeenEvent};
use placet_notify::{Callbacks, Deliveries};
use placet_testkit::{Backend, Kit, both, found, soon};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};
use tokio_tungstenite::{accept_async, tungstenite::Message};
use tokio_util::sync::{CancellationToken, DropGuard};

/// What an agent that listens sees of each connection.
#[derive(Debug, PartialEq)]
enum Heard {
    Connected,
    Said(Value),
    /// It ended without a word.
    Silent,
}

/// An agent that waits, as hitl.py does: takes one text, and closes.
struct Agent {
    port: u16,
    heard: mpsc::UnboundedReceiver<Heard>,
    // The ports that connections came from, in the order in which they came.
    connections: Arc<Mutex<Vec<u16>>>,
    _task: JoinSet<()>,
}

impl Agent {
    async fn listens() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, heard) = mpsc::unbounded_channel();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let (mut task, came) = (JoinSet::new(), connections.clone());
        task.spawn(async move {
            let mut sockets = JoinSet::new();
            while let Ok((stream, from)) = listener.accept().await {
                came.lock().unwrap().push(from.port());
                let tell = tell.clone();
                sockets.spawn(async move {
                    let Ok(mut socket) = accept_async(stream).await else { return };
                    let _ = tell.send(Heard::Connected);
                    let said = match socket.next().await {
                        Some(Ok(Message::Text(text))) => Heard::Said(serde_json::from_str(&text).unwrap()),
                        _ => Heard::Silent,
                    };
                    let _ = tell.send(said);
                    let _ = socket.close(None).await;
                    while let Some(Ok(_)) = socket.next().await {}
                });
            }
        });
        Self { port, heard, connections, _task: task }
    }

    fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    async fn hears(&mut self) -> Heard {
        soon("the agent to hear something", self.heard.recv()).await.expect("it listens")
    }

    async fn hears_permission(&mut self) -> Value {
        match self.hears().await {
            Heard::Said(answer) => answer["permission"].clone(),
            other => panic!("{other:?}"),
        }
    }

    /// What was heard is all there is to hear, of so many connections. The worker has ended.
    async fn heard_nothing_else(&mut self, connections: usize) {
        self.had_connections(connections).await;
        assert!(self.heard.try_recv().is_err());
    }

    /// So many connections came. The worker has ended, and a connection of our own comes after all of its own.
    async fn had_connections(&self, connections: usize) {
        let knock = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let own = knock.local_addr().unwrap().port();
        let before = found("our own connection", async || {
            self.connections.lock().unwrap().iter().position(|port| *port == own)
        });
        assert_eq!(before.await, connections);
    }

    fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }
}

/// A gate whose agents are called back.
struct Scene {
    kit: Kit,
    bot: Actor,
    ann: Actor,
    running: (DropGuard, JoinSet<()>),
    // Called last when a test must see that nothing was called before.
    fence: Agent,
}

impl Scene {
    async fn start(backend: Backend) -> Self {
        Self::calling(backend, patient(Rules::default(), Arc::default())).await
    }

    async fn calling(backend: Backend, sockets: Sockets) -> Self {
        let kit = Kit::start(backend).await;
        let worker = Callbacks::new(kit.gate().clone(), sockets);
        Self::over(kit, worker).await
    }

    async fn over(kit: Kit, worker: Callbacks) -> Self {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let (cancel, mut task) = (CancellationToken::new(), JoinSet::new());
        let worker = Deliveries::new(kit.gate().clone(), [Arc::new(worker) as Arc<dyn Channel>]);
        task.spawn(worker.run(cancel.clone()));
        let fence = Agent::listens().await;
        let mut scene = Self { kit, bot, ann, running: (cancel.drop_guard(), task), fence };
        // A worker that is not there yet is not told.
        scene.fence().await;
        scene
    }

    /// Comes back when the worker has done what it was told before: it gets ready for one thing after the other.
    async fn fence(&mut self) {
        let seen = self.asked(&self.fence.url()).await;
        let notice = found("a worker", async || self.kit.gate().answering(&seen)).await;
        assert_eq!(self.fence.hears().await, Heard::Connected);
        drop(notice);
        assert_eq!(self.fence.hears().await, Heard::Silent);
    }

    /// A question whose answer is awaited there.
    async fn asked(&self, url: &str) -> SeenEvent {
        self.kit.ask_in_an_event(&self.bot, &self.ann, url).await
    }

    fn answering(&self, seen: &SeenEvent) -> Notice {
        self.kit.gate().answering(seen).expect("somebody gets ready")
    }

    /// What the outbox says in the end.
    async fn deliveries(&self) -> Vec<String> {
        found("the end of every delivery", async || {
            let rows = self.kit.place().rows("SELECT state FROM outbox").await;
            let states: Vec<String> =
                rows.iter().map(|row| row[0].as_str().unwrap_or_default().to_owned()).collect();
            (!states.iter().any(|state| state == "waiting")).then_some(states)
        })
        .await
    }

    async fn finish(self) {
        let (cancel, mut task) = self.running;
        drop(cancel);
        while task.join_next().await.is_some() {}
        self.kit.finish().await;
    }
}

both! {
    async fn the_agent_is_connected_to_before_the_answer_is_committed_and_hears_it_after(backend: Backend) {
        let scene = Scene::start(backend).await;
        let mut agent = Agent::listens().await;
        let (seen, later) = (scene.asked(&agent.url()).await, scene.asked(&agent.url()).await);
        let request = seen.request.clone().unwrap();
        let held = scene.kit.place().hold().await;
        let notice = scene.answering(&seen);
        let mut deciding = Box::pin(scene.kit.approve(&scene.ann, &request));
        assert!(futures_util::poll!(&mut deciding).is_pending(), "nothing can be committed");
        assert_eq!(agent.hears().await, Heard::Connected);
        // A connection that is made after the decision was given. An answer before its commit would come earlier.
        let fence = scene.answering(&later);
        assert_eq!(agent.hears().await, Heard::Connected);
        drop(fence);
        assert_eq!(agent.hears().await, Heard::Silent);
        assert!(futures_util::poll!(&mut deciding).is_pending(), "nothing can be committed");
        drop(held);
        notice.answered(&deciding.await.unwrap());
        assert_eq!(agent.hears_permission().await, json!(true));
        assert_eq!(scene.deliveries().await, ["delivered"]);
        scene.finish().await;
        agent.heard_nothing_else(2).await;
    }

    async fn an_answer_that_lost_is_never_sent_and_the_one_that_won_is(backend: Backend) {
        let scene = Scene::start(backend).await;
        let mut agent = Agent::listens().await;
        let seen = scene.asked(&agent.url()).await;
        let request = seen.request.clone().unwrap();
        let bob = scene.kit.reviewer("bob").await;
        // Ann is about to say yes; bob's no is committed first.
        let notice = scene.answering(&seen);
        assert_eq!(agent.hears().await, Heard::Connected);
        scene.kit.deny(&bob, &request).await.unwrap();
        assert!(scene.kit.approve(&scene.ann, &request).await.is_err(), "the second answer is refused");
        let answered = scene.kit.gate().event(&scene.ann, seen.event.id).await.unwrap();
        assert!(scene.kit.gate().answering(&answered).is_none(), "nobody gets ready for what was answered");
        // What the ledger says of a commit may come a moment later, and a line that nobody answers is closed.
        assert_eq!(agent.hears_permission().await, json!(false));
        drop(notice);
        assert_eq!(scene.deliveries().await, ["delivered"]);
        scene.finish().await;
        agent.heard_nothing_else(1).await;
    }
}

#[test]
fn a_connection_without_an_answer_is_closed() {
    placet_testkit::block_on(async {
        let scene = Scene::start(Backend::Sqlite).await;
        let mut agent = Agent::listens().await;
        let seen = scene.asked(&agent.url()).await;
        let notice = scene.answering(&seen);
        assert_eq!(agent.hears().await, Heard::Connected);
        drop(notice);
        assert_eq!(agent.hears().await, Heard::Silent);
        // And the answer that is given in the end finds its way as always.
        scene.kit.approve(&scene.ann, &seen.request.unwrap()).await.unwrap();
        assert_eq!(agent.hears().await, Heard::Connected);
        assert_eq!(agent.hears_permission().await, json!(true));
        scene.finish().await;
    });
}

#[test]
fn a_connection_whose_answer_does_not_come_is_closed_after_a_while() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Sqlite).await;
        let worker = Callbacks::new(kit.gate().clone(), patient(Rules::default(), Arc::default()));
        let scene = Scene::over(kit, worker.with_patience(Duration::from_millis(100))).await;
        let mut agent = Agent::listens().await;
        let seen = scene.asked(&agent.url()).await;
        let _kept = scene.answering(&seen);
        assert_eq!(agent.hears().await, Heard::Connected);
        assert_eq!(agent.hears().await, Heard::Silent);
        scene.finish().await;
    });
}

#[test]
fn a_vote_that_leaves_the_question_open_is_no_answer() {
    placet_testkit::block_on(async {
        let two = AllOf { all: vec![Seat { people: 2, team: None }] };
        let kit = Kit::with(Backend::Sqlite, |settings| settings.needs.any = vec![two]).await;
        let worker = Callbacks::new(kit.gate().clone(), patient(Rules::default(), Arc::default()));
        let bob = kit.reviewer("bob").await;
        let scene = Scene::over(kit, worker).await;
        let mut agent = Agent::listens().await;
        let seen = scene.asked(&agent.url()).await;
        let notice = scene.answering(&seen);
        assert_eq!(agent.hears().await, Heard::Connected);
        let open = scene.kit.approve(&scene.ann, &seen.request.unwrap()).await.unwrap();
        notice.answered(&open);
        assert_eq!(agent.hears().await, Heard::Silent);
        scene.kit.approve(&bob, &open).await.unwrap();
        assert_eq!(agent.hears().await, Heard::Connected);
        assert_eq!(agent.hears_permission().await, json!(true));
        scene.finish().await;
    });
}

#[test]
fn one_question_has_one_connection_and_all_together_have_not_more_than_64() {
    placet_testkit::block_on(async {
        let kit = Kit::start(Backend::Sqlite).await;
        let worker = Callbacks::new(kit.gate().clone(), patient(Rules::default(), Arc::default()));
        // No connection ends by itself while they are counted.
        let mut scene = Scene::over(kit, worker.with_patience(Duration::from_hours(1))).await;
        let mut agent = Agent::listens().await;
        let mut asked = Vec::new();
        for _ in 0..80 {
            asked.push(scene.asked(&agent.url()).await);
        }
        let mut kept = Vec::new();
        for _ in 0..5 {
            kept.push(scene.answering(&asked[0]));
        }
        assert_eq!(agent.hears().await, Heard::Connected);
        scene.fence().await;
        assert_eq!(agent.connections(), 1, "five people, one question");
        for seen in &asked {
            // The worker is told of so many at once and not of more.
            kept.push(found("room to tell the worker", async || scene.kit.gate().answering(seen)).await);
        }
        for _ in 1..64 {
            assert_eq!(agent.hears().await, Heard::Connected);
        }
        // One ends and makes room for one. By then the worker has passed over all that found none.
        drop(kept.remove(0));
        assert_eq!(agent.hears().await, Heard::Silent);
        let last = asked.last().unwrap();
        found("the room of the one that ended", async || {
            kept.extend(scene.kit.gate().answering(last));
            (agent.connections() > 64).then_some(())
        })
        .await;
        drop(kept);
        scene.finish().await;
        agent.had_connections(65).await;
    });
}

/// Sockets that a busy machine cannot make give up.
fn patient(rules: Rules, names: Arc<Names>) -> Sockets {
    let minute = Duration::from_mins(1);
    let limits =
        Limits { resolve: minute, connect: minute, handshake: minute, write: minute, ..Limits::default() };
    Sockets::with(rules, limits, names)
}

/// Says where a name leads, and counts how often it was asked.
#[derive(Debug, Default)]
struct Names(Vec<&'static str>, AtomicUsize);

impl Resolve for Names {
    fn resolve<'a>(&'a self, _: &'a str) -> ResolveFuture<'a> {
        let asked = self.1.fetch_add(1, Ordering::SeqCst);
        let address = self.0.get(asked).or(self.0.last()).and_then(|text| text.parse::<IpAddr>().ok());
        Box::pin(async move { address.map(|one| vec![one]).ok_or(io::ErrorKind::NotFound.into()) })
    }
}

/// What comes of an answer to `ws://HOST`, and how often the name was looked up and the agent connected to.
async fn called(host: &str, listed: &[&str], names: Vec<&'static str>) -> (Vec<String>, usize, usize) {
    let names = Arc::new(Names(names, AtomicUsize::new(0)));
    let rules = Rules::new(listed.iter().map(|host| (*host).to_owned()));
    let mut scene = Scene::calling(Backend::Sqlite, patient(rules, names.clone())).await;
    let agent = Agent::listens().await;
    let seen = scene.asked(&format!("ws://{host}:{}", agent.port)).await;
    let notice = scene.answering(&seen);
    scene.fence().await;
    let decided =
        scene.kit.gate().decide(&scene.ann, Kit::decision(&seen.request.unwrap(), DecisionWord::Approve));
    notice.answered(&decided.await.unwrap());
    let states = scene.deliveries().await;
    scene.finish().await;
    (states, names.1.load(Ordering::SeqCst), agent.connections())
}

#[test]
fn a_place_that_must_not_be_called_is_not_called_ahead_either() {
    placet_testkit::block_on(async {
        let dead = || vec!["dead".to_owned()];
        // Not listed any more: not even looked up.
        assert_eq!(called("agents.example", &[], vec!["127.0.0.1"]).await, (dead(), 0, 0));
        // Private, and nobody listed it.
        assert_eq!(called("10.0.0.1", &[], vec![]).await, (dead(), 0, 0));
        // Listed, and leads to where credentials are.
        assert_eq!(
            called("agents.example", &["agents.example"], vec!["169.254.169.254"]).await,
            (dead(), 1, 0)
        );
        // Looked up once, and connected to where it was checked; a second look would say something else.
        let turncoat = vec!["127.0.0.1", "169.254.169.254"];
        assert_eq!(
            called("agents.example", &["agents.example"], turncoat).await,
            (vec!["delivered".to_owned()], 1, 1)
        );
    });
}
