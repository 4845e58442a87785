//! Real calls over HTTP: what is refused never reaches a listener, nothing is followed, nothing grows without end.

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use placet_egress::{Answer, EgressError, Forbidden, Http, Resolve, Rules, SystemResolver};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};

/// Answers every call with the same bytes and closes; counts connections.
#[expect(clippy::disallowed_methods, reason = "a peer that lives as long as its test")]
async fn server(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0_u8; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, connections)
}

/// A resolver that gives each of these answers once, in turn.
#[derive(Debug)]
struct Names(Mutex<Vec<Vec<IpAddr>>>, AtomicUsize);

impl Names {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect()), AtomicUsize::new(0)))
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, _: &'a str) -> placet_egress::ResolveFuture<'a> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.is_empty() { Vec::new() } else { answers.remove(0) };
        Box::pin(async move { Ok::<_, io::Error>(answer) })
    }
}

async fn get(http: &Http, url: &str) -> Result<Answer, EgressError> {
    http.call(Method::GET, url, HeaderMap::new(), Bytes::new(), Duration::from_secs(5)).await
}

const FINE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";

#[tokio::test]
async fn this_machine_is_called_and_its_answer_read() {
    let (port, _) = server(FINE).await;
    let http = Http::new(Rules::default()).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let answer = get(&http, &format!("http://{host}:{port}/x")).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(&answer.whole(10, Duration::from_secs(5)).await.unwrap()[..], b"ok");
    }
}

#[tokio::test]
async fn a_host_that_is_not_listed_is_never_connected_to() {
    let (port, connections) = server(FINE).await;
    let http = Http::with(Rules::default(), Names::new(&[&["127.0.0.1"]])).unwrap();
    for url in [
        format!("http://agents.example:{port}/"),
        format!("http://10.0.0.1:{port}/"),
        format!("http://169.254.169.254:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
    ] {
        let error = get(&http, &url).await.unwrap_err();
        assert!(matches!(error, EgressError::Forbidden(_)), "{url}: {error}");
    }
    for url in ["file:///etc/passwd", "ws://localhost:1/", "http://ann:secret@localhost/", "localhost"] {
        assert!(matches!(get(&http, url).await, Err(EgressError::BadUrl(_))), "{url}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_listed_name_that_leads_to_where_credentials_are_is_refused_by_that_name() {
    let names = Names::new(&[&["169.254.169.254"], &["203.0.113.9", "169.254.169.254"]]);
    let http = Http::with(Rules::new(["agents.example".to_owned()]), names.clone()).unwrap();
    for _ in 0..2 {
        let error = get(&http, "http://agents.example:9/").await.unwrap_err();
        let EgressError::Forbidden(Forbidden::Address { host, address }) = error else { panic!("{error}") };
        assert_eq!((host.as_str(), address.to_string().as_str()), ("agents.example", "169.254.169.254"));
    }
    assert_eq!(names.1.load(Ordering::SeqCst), 2, "one lookup a connection");
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let (port, connections) = server(FINE).await;
    // A second lookup would say something else.
    let names = Names::new(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let http = Http::with(Rules::new(["agents.example".to_owned()]), names).unwrap();
    assert_eq!(get(&http, &format!("http://agents.example:{port}/")).await.unwrap().status(), 200);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let (inner, reached) = server(FINE).await;
    let location = format!(
        "HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:{inner}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let (port, _) = server(Box::leak(location.into_boxed_str())).await;
    let http = Http::new(Rules::default()).unwrap();
    assert_eq!(get(&http, &format!("http://127.0.0.1:{port}/")).await.unwrap().status(), 307);
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_kept() {
    let (port, _) = server("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789").await;
    let http = Http::new(Rules::default()).unwrap();
    let answer = get(&http, &format!("http://127.0.0.1:{port}/")).await.unwrap();
    let error = answer.whole(9, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, EgressError::TooLarge { limit: 9, .. }), "{error}");
}

#[tokio::test]
async fn nobody_there_means_that_nothing_was_sent_and_a_broken_answer_does_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let http = Http::new(Rules::default()).unwrap();
    let error = get(&http, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(error.is_unsent() && !error.is_final(), "{error}");
    let (port, _) = server("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await;
    let answer = get(&http, &format!("http://127.0.0.1:{port}/")).await.unwrap();
    let error = answer.whole(100, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, EgressError::BrokenOff { .. }) && !error.is_unsent(), "{error}");
}

/// A server that keeps connections open, and reports when each is opened and closed.
#[expect(clippy::disallowed_methods, reason = "peers that live as long as their test")]
async fn keeper() -> (String, mpsc::UnboundedReceiver<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tell.send("opened").unwrap();
            tokio::spawn(async move {
                let mut buffer = [0_u8; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
                }
                let _ = tell.send("closed");
            });
        }
    });
    (url, told)
}

#[tokio::test]
async fn an_unused_connection_is_used_again_until_its_time_is_up_and_is_then_closed() {
    let kept = |idle| Http::keeping(Rules::default(), Arc::new(SystemResolver), idle).unwrap();
    let call = async |http: &Http, url: &str| {
        let answer = get(http, url).await.unwrap();
        assert_eq!(&answer.whole(10, Duration::from_secs(5)).await.unwrap()[..], b"ok");
    };
    let (url, mut told) = keeper().await;
    let http = kept(Duration::from_hours(1));
    call(&http, &url).await;
    call(&http, &url).await;
    assert_eq!(told.recv().await, Some("opened"));
    assert!(told.try_recv().is_err(), "the second call uses the connection of the first");

    // The server waits for the close itself; the bound only ends a failing test.
    let (url, mut told) = keeper().await;
    let http = kept(Duration::from_millis(50));
    for _ in 0..2 {
        call(&http, &url).await;
        assert_eq!(told.recv().await, Some("opened"));
        let closed = tokio::time::timeout(Duration::from_mins(1), told.recv()).await;
        assert_eq!(closed.expect("the connection is closed"), Some("closed"));
    }
}
