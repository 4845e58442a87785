//! Answers that wait to be read: their bytes are counted per connection and per principal, and bounded.
//!
//! An answer is counted from the moment it exists until its last byte went to the operating system, also while hyper
//! keeps it. Above half of a budget new calls are refused before anything happens. An answer that would go over a
//! budget is not kept: a read is answered with 429, and any other call is broken off, since its outcome stands.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::{problem::Problem, write_deadline::StreamWatch};

/// Answers over HTTP/2 are handed to hyper in pieces of this size, the largest frame that every client takes.
const PIECE: usize = 16 * 1024;

/// How many bytes wait to be read, and how many may.
#[derive(Debug)]
pub(crate) struct Budget {
    unsent: AtomicUsize,
    most: usize,
    // Counts pieces that were written or given up: whoever waits for the reader sees that something moves.
    moved: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Self {
        Self { unsent: AtomicUsize::new(0), most, moved: AtomicUsize::new(0) }
    }

    pub(crate) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Relaxed)
    }

    pub(crate) fn moved(&self) -> usize {
        self.moved.load(Ordering::Relaxed)
    }

    /// Whether new calls are refused: the other half is for answers to calls that are on their way.
    fn is_full(&self) -> bool {
        self.unsent() > self.most / 2
    }

    /// Counts so many more bytes. One answer fits in any case, however long it is.
    fn take(&self, bytes: usize) -> bool {
        let more = |unsent: usize| {
            let sum = unsent.saturating_add(bytes);
            (unsent == 0 || sum <= self.most).then_some(sum)
        };
        self.unsent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.unsent.fetch_sub(bytes, Ordering::Relaxed);
        self.moved.fetch_add(1, Ordering::Relaxed);
    }
}

/// The budgets of principals that have answers on their way, and of addresses for calls of nobody.
#[derive(Debug)]
pub(crate) struct Budgets {
    by_name: Mutex<HashMap<String, Arc<Budget>>>,
    most: usize,
}

impl Budgets {
    pub(crate) fn new(most: usize) -> Self {
        Self { by_name: Mutex::default(), most }
    }

    fn of(&self, name: &str) -> Arc<Budget> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = by_name.get(name) {
            return budget.clone();
        }
        let budget = Arc::new(Budget::new(self.most));
        by_name.insert(name.to_owned(), budget.clone());
        budget
    }

    /// How many bytes of all principals together wait to be read.
    pub(crate) fn unsent(&self) -> usize {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        by_name.values().map(|budget| budget.unsent()).sum()
    }

    /// Forgets those that have no call and no answer on its way.
    pub(crate) fn tidy(&self) {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        by_name.retain(|_, budget| Arc::strong_count(budget) > 1);
        by_name.shrink_to_fit();
    }
}

/// Whose budgets the answer to one call is counted in.
#[derive(Debug)]
pub(crate) struct Account {
    connection: Arc<Budget>,
    principal: OnceLock<Arc<Budget>>,
}

tokio::task_local! {
    // The account of the call that is being answered. Not in the call's extensions: doors authenticate in several
    // ways, and all of them ask `admit`.
    static ACCOUNT: Arc<Account>;
}

/// Says whose call this is, and refuses it if too many of their answers wait to be read.
pub(crate) fn admit(budgets: &Budgets, principal: &str) -> Result<(), Problem> {
    let Ok(account) = ACCOUNT.try_with(Arc::clone) else { return Ok(()) };
    let budget = account.principal.get_or_init(|| budgets.of(principal));
    if budget.is_full() || account.connection.is_full() { Err(too_many_unread()) } else { Ok(()) }
}

fn too_many_unread() -> Problem {
    let detail = "too many answers wait to be read: read or close them first";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_unread", detail).retry_after(1)
}

impl Account {
    fn take(&self, bytes: usize) -> bool {
        let budgets = [Some(&self.connection), self.principal.get()];
        let [connection, principal] = budgets.map(|budget| budget.is_none_or(|budget| budget.take(bytes)));
        if connection && !principal {
            self.connection.give_back(bytes);
        }
        if principal
            && !connection
            && let Some(budget) = self.principal.get()
        {
            budget.give_back(bytes);
        }
        connection && principal
    }

    fn give_back(&self, bytes: usize) {
        self.connection.give_back(bytes);
        if let Some(budget) = self.principal.get() {
            budget.give_back(bytes);
        }
    }
}

/// An answer was given up because too many others wait to be read.
#[derive(Debug, thiserror::Error)]
#[error("too many answers wait to be read")]
pub(crate) struct Unread;

/// The answer to one call, counted as soon as it is there.
pub(crate) struct Counted<F> {
    answer: F,
    account: Arc<Account>,
    budgets: Arc<Budgets>,
    peer: IpAddr,
    is_read: bool,
}

impl<F> Counted<F> {
    pub(crate) fn new(
        answer: F,
        connection: Arc<Budget>,
        budgets: Arc<Budgets>,
        peer: IpAddr,
        method: &Method,
    ) -> Self {
        let account = Arc::new(Account { connection, principal: OnceLock::new() });
        let is_read = [Method::GET, Method::HEAD].contains(method);
        Self { answer, account, budgets, peer, is_read }
    }
}

impl<F> Future for Counted<F>
where
    F: Future<Output = Result<Response, Infallible>> + Unpin,
{
    type Output = Result<http::Response<AnswerBody>, Unread>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let answer = Pin::new(&mut this.answer);
        let Ok(response) = ready!(ACCOUNT.sync_scope(this.account.clone(), || answer.poll(cx)));
        // An address has no `@` in front, and a name cannot have one.
        this.account.principal.get_or_init(|| this.budgets.of(&format!("@{}", this.peer)));
        let known = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let known = known.unwrap_or(0);
        if known == 0 || this.account.take(known) {
            return Poll::Ready(Ok(response.map(|body| AnswerBody::new(body, this.account.clone(), known))));
        }
        metrics::counter!("placet_unread_refused_total").increment(1);
        if !this.is_read {
            return Poll::Ready(Err(Unread));
        }
        drop(response);
        let mut response = too_many_unread().into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // A few hundred bytes that are not counted: the number of streams bounds them.
        Poll::Ready(Ok(response.map(|body| AnswerBody::new(body, Arc::new(Account::free()), 0))))
    }
}

impl Account {
    /// Budgets of nobody.
    fn free() -> Self {
        Self { connection: Arc::new(Budget::new(usize::MAX)), principal: OnceLock::new() }
    }
}

/// The body of an answer, whose bytes are counted until they are sent or given up.
pub(crate) struct AnswerBody {
    inner: Body,
    account: Arc<Account>,
    // Bytes that are counted and still with `inner`.
    reserved: usize,
    // What is left of a chunk that is handed out in pieces; counted.
    rest: Bytes,
    // Of a stream of HTTP/2.
    watch: Option<Arc<StreamWatch>>,
    pieces: usize,
}

impl AnswerBody {
    fn new(inner: Body, account: Arc<Account>, reserved: usize) -> Self {
        Self { inner, account, reserved, rest: Bytes::new(), watch: StreamWatch::current(), pieces: 0 }
    }

    /// The next piece, which is counted until it is dropped.
    fn piece(&mut self) -> Bytes {
        let bytes = match &self.watch {
            Some(_) => self.rest.split_to(self.rest.len().min(PIECE)),
            None => std::mem::take(&mut self.rest),
        };
        self.pieces += 1;
        if let Some(watch) = &self.watch {
            watch.handed_out();
        }
        Bytes::from_owner(Piece { bytes, account: self.account.clone(), watch: self.watch.clone() })
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        while this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                // With the end held back until the last piece is gone, the deadline of the stream holds for it as well.
                None if this.pieces > 1 && this.watch.as_ref().is_some_and(|watch| !watch.is_done(cx)) => {
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            };
            match frame.into_data() {
                Ok(bytes) => {
                    let more = bytes.len().saturating_sub(this.reserved);
                    if more > 0 && !this.account.take(more) {
                        metrics::counter!("placet_unread_refused_total").increment(1);
                        return Poll::Ready(Some(Err(Unread.into())));
                    }
                    this.reserved = this.reserved.saturating_sub(bytes.len());
                    this.rest = bytes;
                }
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        Poll::Ready(Some(Ok(Frame::data(this.piece()))))
    }

    fn is_end_stream(&self) -> bool {
        let held_back = self.watch.is_some() && self.pieces > 1;
        self.rest.is_empty() && self.inner.is_end_stream() && !held_back
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let left = self.reserved + self.rest.len();
        if left > 0 {
            self.account.give_back(left);
        }
    }
}

/// Bytes that hyper has. It drops them when they are written, or when the stream is given up.
struct Piece {
    bytes: Bytes,
    account: Arc<Account>,
    watch: Option<Arc<StreamWatch>>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.account.give_back(self.bytes.len());
        if let Some(watch) = &self.watch {
            watch.came_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn account(connection: usize, principal: usize) -> Arc<Account> {
        let account = Account { connection: Arc::new(Budget::new(connection)), principal: OnceLock::new() };
        account.principal.set(Arc::new(Budget::new(principal))).unwrap();
        Arc::new(account)
    }

    fn unsent(account: &Account) -> (usize, usize) {
        (account.connection.unsent(), account.principal.get().unwrap().unsent())
    }

    #[tokio::test]
    async fn bytes_are_counted_until_the_last_copy_of_them_is_gone() {
        let account = account(100, 100);
        assert!(account.take(10));
        let mut body = AnswerBody::new(Body::from("0123456789"), account.clone(), 10);
        let mut piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!(unsent(&account), (10, 10), "hyper has them");
        let half = piece.split_to(5);
        drop(piece);
        assert_eq!(unsent(&account), (10, 10), "half is not written yet");
        drop(half);
        assert_eq!(unsent(&account), (0, 0));
        // What nobody took goes with the body.
        assert!(account.take(3));
        drop(AnswerBody::new(Body::from("abc"), account.clone(), 3));
        assert_eq!(unsent(&account), (0, 0));
    }

    #[tokio::test]
    async fn a_stream_of_chunks_is_counted_as_it_comes_and_broken_off_over_the_budget() {
        let account = account(usize::MAX, 5);
        let chunks = ["abc", "def"].map(|text| Ok::<_, Infallible>(Bytes::from(text)));
        let mut body =
            AnswerBody::new(Body::from_stream(futures_util::stream::iter(chunks)), account.clone(), 0);
        let first = body.frame().await.unwrap().unwrap();
        assert_eq!(unsent(&account), (3, 3));
        assert!(body.frame().await.unwrap().is_err());
        drop((first, body));
        assert_eq!(unsent(&account), (0, 0), "what was refused is not counted");
    }

    #[test]
    fn one_answer_fits_however_long_it_is_and_a_second_one_does_not() {
        let account = account(10, 20);
        assert!(account.take(100));
        assert!(!account.take(1));
        assert_eq!(unsent(&account), (100, 100));
        account.give_back(100);
        assert!(account.take(6) && !account.take(5) && account.take(4));
        assert_eq!(unsent(&account), (10, 10));
        assert!(account.connection.is_full() && !account.principal.get().unwrap().is_full());
    }

    #[test]
    fn budgets_are_forgotten_when_nothing_is_on_its_way() {
        let budgets = Budgets::new(10);
        let kept = budgets.of("a");
        budgets.of("b");
        budgets.tidy();
        assert_eq!(budgets.by_name.lock().unwrap().len(), 1);
        assert!(Arc::ptr_eq(&kept, &budgets.of("a")));
    }

    #[tokio::test]
    async fn an_answer_over_the_budget_is_429_for_a_read_and_breaks_any_other_call_off() {
        let connection = Arc::new(Budget::new(10));
        assert!(connection.take(8));
        for (method, kept) in [(Method::GET, true), (Method::HEAD, true), (Method::POST, false)] {
            let answer = std::future::ready(Ok(Response::new(Body::from("abc"))));
            let budgets = Arc::new(Budgets::new(100));
            let counted = Counted::new(answer, connection.clone(), budgets, [127, 0, 0, 1].into(), &method);
            let status = counted.await.ok().map(|response| response.status().as_u16());
            assert_eq!(status, kept.then_some(429), "{method}");
            assert_eq!(connection.unsent(), 8, "{method}");
        }
    }
}
