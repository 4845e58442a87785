//! The gate itself: what it holds, how it starts and stops, and the reads that every door shares.

use std::{borrow::Cow, ops::Deref, sync::Arc, time::Duration};

use placet_core::{Actor, Card, CardLine, Display, Limits, Needs, Request, RequestId, Role, Time};
use placet_ledger::display_digest;
use placet_store::{CommandUnit, Filter, LedgerRow, Listed, News, Outcome, Store};
use tokio::sync::{Notify, broadcast};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Entropy, EventRetention, Feed, GateError, coming, figures::FiguresTurn, hub, pace::Paces,
    passwords::Passwords, permit, policies::Policies, preview, simulate::ShadowSlot, timer, timer::Timer,
    unknown_keys::UnknownKeys, verifying::Verifying, view, waiters::Waiters, warnings::Warnings,
};

/// What can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bounds on what an agent may ask for.
    pub limits: Limits,
    /// How many pending requests an agent may have.
    pub pending_per_agent: u64,
    /// How long claiming may take after approval.
    pub claim_window: Duration,
    /// How long reporting may take after the claim.
    pub report_window: Duration,
    /// Whose yes every held request needs at least, whatever policy asks for.
    pub needs: Needs,
    /// The policy that is in force until one is put.
    pub policy: String,
    /// How many waits one principal may have open.
    pub waits_per_principal: usize,
    /// How many waits this node holds open.
    pub waits: usize,
    /// How long events of the observability door are kept.
    pub events: EventRetention,
    /// How many open notes of a kind one owner may have.
    pub notes_per_owner: u64,
    /// How long a session may go unused.
    pub session_idle: Duration,
    /// How long a session lives at most.
    pub session_absolute: Duration,
    /// Whether figures about one person are for all who may see figures, not for that person alone.
    pub people_figures: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            pending_per_agent: 500,
            claim_window: Duration::from_mins(15),
            report_window: Duration::from_hours(1),
            needs: Needs::default(),
            policy: placet_policy::DEFAULT.to_owned(),
            waits_per_principal: 5_000,
            waits: 50_000,
            events: EventRetention::default(),
            notes_per_owner: 10_000,
            session_idle: Duration::from_hours(12),
            session_absolute: Duration::from_hours(7 * 24),
            people_figures: false,
        }
    }
}

/// How many entries a slow stream may lag behind before it reads the database instead.
const STREAM_MEMORY: usize = 4096;

/// The engine. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

/// What the gate holds.
pub struct Inner {
    pub(crate) store: Arc<Store>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) settings: Settings,
    pub(crate) waiters: Arc<Waiters>,
    pub(crate) timer: Timer,
    pub(crate) policies: Policies,
    // A candidate policy that is evaluated without effect.
    pub(crate) shadow: ShadowSlot,
    // Hashing a password takes 19 MiB and a core for a while.
    pub(crate) passwords: Passwords,
    pub(crate) verifying: Verifying,
    pub(crate) figures_turn: FiguresTurn,
    // Apart from the figures: it may take longer.
    pub(crate) suggest_turn: FiguresTurn,
    pub(crate) paces: Paces,
    pub(crate) warnings: Warnings,
    pub(crate) unknown_keys: UnknownKeys,
    // Every entry once, for the streams. Bounded: a stream that lags reads the database instead.
    pub(crate) news: broadcast::Sender<News>,
    // What of it concerns the doors.
    pub(crate) door_news: broadcast::Sender<News>,
    // Who gets ready for answers that are being committed.
    pub(crate) coming: coming::Listener,
    // Wakes the worker when notes raised deliveries.
    pub(crate) raised: Notify,
    pub(crate) cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Deref for Gate {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("waiters", &self.waiters.len()).finish_non_exhaustive()
    }
}

impl Gate {
    /// Starts the engine on an open store: the hub from the head on, and the timer.
    pub async fn start(
        store: Arc<Store>,
        entropy: Arc<dyn Entropy>,
        settings: Settings,
    ) -> Result<Self, GateError> {
        let tail = store.tail(None).await?;
        let gate = Self(Arc::new(Inner {
            store,
            entropy,
            waiters: Arc::new(Waiters::new(settings.waits_per_principal, settings.waits)),
            policies: Policies::new(&settings.policy),
            shadow: ShadowSlot::default(),
            passwords: Passwords::default(),
            verifying: Verifying::default(),
            figures_turn: FiguresTurn::default(),
            suggest_turn: FiguresTurn::default(),
            paces: Paces::default(),
            warnings: Warnings::default(),
            unknown_keys: UnknownKeys::default(),
            settings,
            timer: Timer::default(),
            news: broadcast::channel(STREAM_MEMORY).0,
            door_news: broadcast::channel(STREAM_MEMORY).0,
            coming: coming::Listener::default(),
            raised: Notify::new(),
            cancel: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }));
        gate.tasks.spawn(hub::run(gate.0.clone(), tail));
        gate.tasks.spawn(timer::run(gate.0.clone()));
        Ok(gate)
    }

    /// First stage of closing: every wait ends, so that clients connect elsewhere or again.
    pub fn end_waits(&self) {
        self.waiters.end_all();
    }

    /// Second stage: no more news, what is queued is written, the store is closed.
    pub async fn close(&self) {
        self.waiters.end_all();
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }

    /// Now, by the time that rules over deadlines here: the store's.
    pub fn now(&self) -> Time {
        self.store.time().now()
    }

    /// What was set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A fresh secret for a door, too long to guess.
    pub fn secret_token(&self) -> String {
        let mut bytes = [0_u8; 16];
        self.entropy.fill(&mut bytes);
        data_encoding::HEXLOWER.encode(&bytes)
    }

    /// The store underneath, for health and figures.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How many waits are open.
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Lets every passed deadline take effect now, and ends the sessions whose time is up. The timer does this by itself.
    pub async fn sweep(&self) -> Result<usize, GateError> {
        crate::sessions::sweep(&self.0).await?;
        Ok(timer::sweep(&self.0).await?)
    }

    /// One request, if the caller may see it. Unknown and foreign ids answer alike.
    pub async fn get(&self, actor: &Actor, id: RequestId) -> Result<Arc<Request>, GateError> {
        about(id);
        self.seen(actor, id).await
    }

    /// The same, where the span already names the request.
    pub(crate) async fn seen(&self, actor: &Actor, id: RequestId) -> Result<Arc<Request>, GateError> {
        let found = self.store.get(id).await?;
        found.filter(|request| may_see(actor, request)).ok_or_else(GateError::not_found)
    }

    /// A page of requests.
    pub async fn list(&self, actor: &Actor, filter: &Filter, limit: u32) -> Result<Listed, GateError> {
        let actor = &*self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        self.may_pick_out(actor, filter.by.as_deref())?;
        Ok(self.store.list(filter, limit, self.now()).await?)
    }

    /// What one person decided, picked out of everything, is a figure about that person. Auditors need it to verify.
    fn may_pick_out(&self, actor: &Actor, by: Option<&str>) -> Result<(), GateError> {
        match by {
            Some(by) if by != actor.name && actor.role != Role::Auditor && !self.settings.people_figures => {
                Err(GateError::AboutAnother)
            }
            _ => Ok(()),
        }
    }

    /// Requests of a group that this caller may see and that came through this door, the newest first. A group is named by
    /// the agent, so the same name means nothing at another door.
    pub async fn group(
        &self,
        actor: &Actor,
        source: &str,
        group: &str,
        limit: u32,
    ) -> Result<Vec<Arc<Request>>, GateError> {
        let (source, group) = (Some(source.to_owned()), Some(group.to_owned()));
        let filter = Filter { source, group, ..Filter::default() };
        Ok(self.visible(actor, filter, limit).await?.items)
    }

    /// A page of the requests that this caller may see: an agent its own.
    pub async fn visible(&self, actor: &Actor, filter: Filter, limit: u32) -> Result<Listed, GateError> {
        let filter = self.seen_by(actor, filter)?;
        Ok(self.store.list(&filter, limit, self.now()).await?)
    }

    /// How many groups there are among so many of the newest requests that this caller may see.
    pub async fn visible_groups(&self, actor: &Actor, filter: Filter, newest: u32) -> Result<u64, GateError> {
        let filter = self.seen_by(actor, filter)?;
        Ok(self.store.groups(&filter, newest, self.now()).await?)
    }

    /// A filter that lets through only what this caller may see.
    fn seen_by(&self, actor: &Actor, filter: Filter) -> Result<Filter, GateError> {
        let actor = &*self.acting(actor, &[Role::Agent, Role::Reviewer, Role::Auditor])?;
        let own = (actor.role == Role::Agent).then(|| actor.name.clone());
        Ok(Filter { agent: own.or(filter.agent), ..filter })
    }

    /// A page of the ledger.
    pub async fn ledger(&self, actor: &Actor, after: u64, limit: u32) -> Result<Vec<LedgerRow>, GateError> {
        self.acting(actor, &[Role::Reviewer, Role::Auditor])?;
        Ok(self.store.ledger(after, limit).await?)
    }

    /// Follows the ledger after an entry, or from now. The caller filters by [`Gate::may_see`].
    pub async fn feed(&self, after: Option<u64>) -> Result<Feed, GateError> {
        self.feed_of(self.news.subscribe(), after, false).await
    }

    /// Follows, from now, what concerns the doors: requests that came through one, answers that an agent waits for, keys
    /// and people.
    pub async fn door_feed(&self) -> Result<Feed, GateError> {
        self.feed_of(self.door_news.subscribe(), None, true).await
    }

    async fn feed_of(
        &self,
        live: broadcast::Receiver<News>,
        after: Option<u64>,
        sparse: bool,
    ) -> Result<Feed, GateError> {
        if let Some(why) = self.store.lost() {
            return Err(placet_store::StoreError::HistoryLost(why).into());
        }
        let cursor = match after {
            Some(after) => after,
            None => self.store.head().await?.1,
        };
        Ok(Feed::new(self.store.clone(), live, cursor, sparse))
    }

    /// Whether this caller may see this request.
    pub fn may_see(actor: &Actor, request: &Request) -> bool {
        may_see(actor, request)
    }

    /// The exact text to show a reviewer, with its digest.
    pub fn display(&self, request: &Request) -> Option<Display> {
        let fields = request.display_fields();
        let digest = display_digest(&fields).ok()?;
        let (preview, shown) = preview::preview(request);
        let (effect, warnings) = (preview::effect(request), preview::warnings(request));
        Some(Display { digest, fields, code: None, effect, preview, shown, warnings })
    }

    /// The card of a request: the one view that every place draws, with its digest.
    pub fn card(&self, request: &Request) -> Option<Card> {
        view::card(request)
    }

    /// What a line of a list has of the card.
    pub fn card_line(&self, request: &Request) -> CardLine {
        view::line(request, preview::effect(request))
    }

    /// The step-up code of a request, for the one page that shows it to a person whose browser proves its calls.
    pub fn step_up_code(&self, actor: &Actor, request: &Request) -> Option<String> {
        let needed = request.needs.step_up.is_some() && actor.auth == placet_core::Auth::Bound;
        needed.then(|| permit::code(&self.store.secret(), request.current_digest()))
    }

    /// The caller in the role that is used: a key has one; a session has all of its person, and uses the first of these
    /// that the person has now. Callers with none of them are refused.
    pub(crate) fn acting<'a>(&self, actor: &'a Actor, roles: &[Role]) -> Result<Cow<'a, Actor>, GateError> {
        if actor.session.is_none() {
            return if roles.contains(&actor.role) {
                Ok(Cow::Borrowed(actor))
            } else {
                Err(GateError::Forbidden(actor.role))
            };
        }
        let directory = self.store.directory();
        let role = roles.iter().find(|role| directory.person(&actor.name, **role).is_some());
        match role {
            Some(role) if *role == actor.role => Ok(Cow::Borrowed(actor)),
            Some(role) => Ok(Cow::Owned(Actor { role: *role, ..actor.clone() })),
            None => Err(GateError::Forbidden(actor.role)),
        }
    }

    /// Gives one command to the store and turns a refusal into an error.
    pub(crate) async fn command(
        &self,
        actor: &Actor,
        command: placet_core::Command,
        idempotency: Option<placet_store::Idempotency>,
    ) -> Result<Outcome, GateError> {
        let unit = CommandUnit::one(actor.clone(), command, idempotency);
        let mut outcomes = self.store.commands(unit).await?;
        let outcome = outcomes.pop().ok_or(placet_store::StoreError::Unknown)?;
        match outcome.answer {
            Ok(()) => Ok(outcome),
            Err(refusal) => Err(GateError::Refused { refusal, request: outcome.request }),
        }
    }
}

/// Says in the span of a call which request it is about.
pub(crate) fn about(id: RequestId) {
    tracing::Span::current().record("request", tracing::field::display(id));
}

fn may_see(actor: &Actor, request: &Request) -> bool {
    match actor.role {
        Role::Agent => request.agent == actor.name,
        Role::Reviewer | Role::Auditor => true,
        Role::Admin => false,
    }
}
