//! One line of a queue: the fields that a list shows of each request. Every text in it can be shown as it is.

use serde::{Deserialize, Serialize};

use crate::{CardLine, DecisionWord, Digest, GrantUsed, Kind, Origin, RequestId, Risk, State, Time};

/// A request as one line of a list. Every text in it is drawn by the rule of [`crate::show`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Row {
    /// Its identifier.
    pub id: RequestId,
    /// One more with every ledger entry about it.
    pub version: u32,
    /// What is asked for.
    pub kind: Kind,
    /// Where it stands.
    pub state: State,
    /// Who asks.
    pub agent: String,
    /// The agent's session.
    pub session: String,
    /// action: the tool.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tool: Option<String>,
    /// Computed risk.
    pub risk: Risk,
    /// What the line has of the card.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub view: CardLine,
    /// What will happen, in one sentence made from the tool and the arguments that will run. The same as
    /// `view.sentence`; later versions leave it out.
    pub effect: String,
    /// The pause it belongs to.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub group: Option<String>,
    /// Equal on requests that ask for the same call; for reviewers, null for others.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub same: Option<String>,
    /// action: equal on calls of the same tool whose arguments have the same names and types, for any agent.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub shape: Option<String>,
    /// The digest that a vote must carry now: the replacement's if there is one, else the request's.
    pub digest: Digest,
    /// How far the votes are.
    pub votes: Tally,
    /// Whether an approving vote must carry the step-up code.
    pub needs_step_up: bool,
    /// The number of warnings.
    pub warnings: u32,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Time,
    /// Deciding must happen before this.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Time,
    /// When it was decided.
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = Option<String>, format = DateTime))]
    pub decided_at: Option<Time>,
    /// By whom; empty when policy or a grant decided, or nobody has.
    pub decided_by: Vec<String>,
    /// The grant that let it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantUsed>,
    /// What was decided.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub decision: Option<DecisionWord>,
    /// The agents above the one that asks, as it states them, outermost first.
    pub lineage: Vec<String>,
    /// The door it came by, unless it is REST: `a2a` for the desk, `a2a/NAMESPACE/AGENT` for an agent behind the
    /// proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the door adds to its name, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The requests that wait together: same group, same agent, same session, same door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Together {
    /// At most 20 of them, this request included, in the order in which they were made.
    pub items: Vec<Row>,
    /// How many more there are; counted up to 100.
    pub more: u32,
}

/// How far the votes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tally {
    /// Approving votes on what is on the table.
    pub have: u32,
    /// The fewest people who can be enough.
    pub need: u32,
}
