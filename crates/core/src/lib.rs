//! The vocabulary and life cycle of a request: plain data and plain functions, without I/O, clock or randomness.
//!
//! A command and its request go into [`apply`]. It returns at most one [`Event`] (one ledger entry, one new version)
//! and an answer. [`evolve`] folds events back into a [`Request`], so state can always be rebuilt.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod admin;
mod answer;
mod apply;
mod body;
mod card;
mod command;
mod coverage;
mod create;
mod decide;
mod digest;
mod directory;
mod display;
pub mod door;
mod event;
mod evolve;
mod freeze;
mod grant;
mod id;
mod names;
mod needs;
mod opening;
mod plan;
mod preview;
mod record;
mod refusal;
mod request;
mod roots;
mod row;
mod session;
mod time;
mod words;

/// The schema of a text that has one form.
#[cfg(feature = "openapi")]
fn text(form: &str) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(form)).into()
}

pub use admin::{AdminCommand, AdminEvent, AdminRefusal, BrowserKey, ExpectedPolicy, SignIn};
pub use answer::{FILE_BYTES, check_answer};
pub use apply::{Applied, Change, Context, apply};
pub use body::{Action, Body, Confirmation, Input, InputSpec, InputType, Plan, Step};
pub use card::{Card, CardFlag, CardLine, CardSection, DiffRow, RecordCard, SectionBody, TreeNode};
pub use command::{
    Actor, Auth, Cancel, Claim, Command, Decide, Expire, OPEN_REVIEWER, Reassign, Report, ReportStatus,
    Resolve, Revoke, StepUp, Submit, UnverifiedReviewer, Viewed, WeakKey,
};
pub use coverage::{Coverage, Part};
pub use create::{Create, IDENTITY, Limits, Spec, Terms, duration};
pub use digest::Digest;
pub use directory::{Agent, Directory, Key, Person, VoidedCredential};
pub use display::{Display, DisplayField, Leaf, Segment, pointer, quoted, show, visible};
pub use door::{AnswerBack, Door, HOOK_PROGRAM, Origin};
pub use event::{Created, Event, EventPayload, Payload, ProposalMeta, Ruling};
pub use evolve::{EvolveError, attach, evolve};
pub use freeze::Freeze;
pub use grant::{Grant, GrantEnd, GrantKey, GrantUsed, NewGrant, Scope, TrustOffer, TrustTerms, folder};
pub use id::{FreezeId, GrantId, IdError, KeyId, RequestId, SessionId};
pub use names::{alike, skeleton, valid_name, valid_tool};
pub use needs::{AllOf, Escalation, Needs, Seat};
pub use opening::{OPEN_FOLDER, check_opening, opening};
pub use plan::{StepDecision, check_steps};
pub use preview::{DiffLine, PlanStep, Preview, ShellCommand, ShellRedirect, Warning, WarningCode};
pub use record::{
    ClaimRecord, DecisionRecord, OutcomeRecord, ProposalRecord, Record, RecordView, VoteRecord,
};
pub use refusal::{Invalid, Refusal};
pub use request::{
    ClaimState, Content, Decision, OutcomeState, Proposal, ProposalContent, Request, Verdict, Vote,
};
pub use row::{Row, Tally, Together};
pub use session::{SIGN_IN_LINK, Session};
pub use time::Time;
pub use words::{Confine, Covered, DecisionWord, Effect, Kind, Risk, Role, Seen, SessionEnd, State, Via};
