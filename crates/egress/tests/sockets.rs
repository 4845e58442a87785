//! Real connections: what is refused never reaches a listener, and what is allowed reaches exactly one.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use placet_egress::{EgressError, Forbidden, Limits, Resolve, Rules, Sockets, SystemResolver};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};
use tokio_tungstenite::{accept_async, tungstenite::Message};

/// A resolver that answers differently every time, and counts.
#[derive(Debug)]
struct Turncoat {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Turncoat {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: AtomicUsize::new(0),
        })
    }
}

impl Resolve for Turncoat {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
    ) -> std::pin::Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.is_empty() { Vec::new() } else { answers.remove(0) };
        Box::pin(async move { Ok(answer) })
    }
}

/// Takes one text and closes, as an agent does. Counts connections.
async fn agent(address: &str) -> (u16, Arc<AtomicUsize>, JoinSet<Option<String>>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let mut task = JoinSet::new();
    let count = connections.clone();
    task.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        count.fetch_add(1, Ordering::SeqCst);
        let mut socket = accept_async(stream).await.unwrap();
        let said = socket.next().await.and_then(Result::ok);
        let _ = socket.close(None).await;
        while let Some(Ok(_)) = socket.next().await {}
        match said {
            Some(Message::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    });
    (port, connections, task)
}

fn listed(hosts: &[&str], resolver: Arc<dyn Resolve>) -> Sockets {
    let rules = Rules::new(hosts.iter().map(|host| (*host).to_owned()));
    Sockets::with(rules, Limits::default(), resolver)
}

#[tokio::test]
async fn localhost_is_tried_on_both_of_its_addresses() {
    let sockets = Sockets::new(Rules::default());
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (port, _, mut task) = agent(address).await;
        sockets.send_text(&format!("ws://localhost:{port}"), "yes").await.unwrap();
        assert_eq!(task.join_next().await.unwrap().unwrap().as_deref(), Some("yes"), "{address}");
    }
}

#[tokio::test]
async fn a_listener_that_stays_open_has_the_text_all_the_same() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        let said = socket.next().await.unwrap().unwrap();
        // Never closes by itself.
        while let Some(Ok(_)) = socket.next().await {}
        said.into_text().unwrap().to_string()
    });
    let sockets = Sockets::new(Rules::default());
    sockets.send_text(&format!("ws://127.0.0.1:{port}/any?path"), "yes").await.unwrap();
    assert_eq!(task.join_next().await.unwrap().unwrap(), "yes");
}

#[tokio::test]
async fn nobody_there_is_worth_another_try_and_a_forbidden_place_is_not() {
    let sockets = Sockets::new(Rules::default());
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let error = sockets.send_text(&format!("ws://localhost:{port}"), "x").await.unwrap_err();
    assert!(matches!(error, EgressError::Connect { .. }) && !error.is_final(), "{error}");
    for bad in
        ["ws://10.1.2.3:80", "ws://169.254.169.254/latest", "ws://user:pw@localhost:80", "ws://evil.example"]
    {
        let error = sockets.send_text(bad, "x").await.unwrap_err();
        assert!(error.is_final(), "{bad}: {error}");
    }
}

#[tokio::test]
async fn a_listed_name_is_looked_up_once_and_connected_to_where_it_was_checked() {
    let (port, connections, mut task) = agent("127.0.0.1:0").await;
    // Asked a second time it would say where credentials are.
    let resolver = Turncoat::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let sockets = listed(&["agents.example"], resolver.clone());
    sockets.send_text(&format!("ws://agents.example:{port}"), "yes").await.unwrap();
    assert_eq!(task.join_next().await.unwrap().unwrap().as_deref(), Some("yes"));
    assert_eq!((resolver.asked.load(Ordering::SeqCst), connections.load(Ordering::SeqCst)), (1, 1));
    // And the second time it is refused, before anything is connected to.
    let error = sockets.send_text(&format!("ws://agents.example:{port}"), "yes").await.unwrap_err();
    assert!(matches!(error, EgressError::Forbidden(Forbidden::Address { .. })), "{error}");
}

#[tokio::test]
async fn one_bad_address_of_a_name_spoils_them_all() {
    let (port, connections, _task) = agent("127.0.0.1:0").await;
    let sockets = listed(&["agents.example"], Turncoat::new(&[&["127.0.0.1", "fe80::1"]]));
    let error = sockets.send_text(&format!("ws://agents.example:{port}"), "yes").await.unwrap_err();
    assert!(error.is_final(), "{error}");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_name_that_is_not_listed_is_not_even_looked_up() {
    let resolver = Turncoat::new(&[&["127.0.0.1"]]);
    let sockets = listed(&["agents.example"], resolver.clone());
    assert!(sockets.send_text("ws://other.example:80", "x").await.unwrap_err().is_final());
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (trap, connections, _task) = agent("127.0.0.1:0").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 2048];
        let _ = stream.read(&mut head).await;
        let answer =
            format!("HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let sockets = Sockets::new(Rules::default());
    let error = sockets.send_text(&format!("ws://127.0.0.1:{port}"), "x").await.unwrap_err();
    assert!(error.to_string().contains("302"), "{error}");
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_listener_that_never_answers_costs_a_bounded_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("ws://127.0.0.1:{port}");
    let within = |handshake| {
        let limits = Limits { handshake, ..Limits::default() };
        Sockets::with(Rules::default(), limits, Arc::new(SystemResolver))
    };
    let (patient, short) = (within(Duration::from_hours(1)), within(Duration::from_millis(50)));
    let error = tokio::select! {
        biased;
        ended = patient.send_text(&url, "x") => panic!("{ended:?} before its time was up"),
        ended = short.send_text(&url, "x") => ended.unwrap_err(),
    };
    assert!(matches!(error, EgressError::Handshake { .. }), "{error}");
    assert!(error.to_string().contains("no answer in time"), "{error}");
    drop(listener);
}

#[tokio::test]
async fn a_connection_that_breaks_before_it_is_closed_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        socket.flush().await.unwrap();
        // Gone without having read anything.
        drop(socket);
    });
    let sockets = Sockets::new(Rules::default());
    let error = sockets.send_text(&format!("ws://127.0.0.1:{port}"), "x").await.unwrap_err();
    assert!(matches!(error, EgressError::Broken { .. }) && !error.is_final(), "{error}");
}
