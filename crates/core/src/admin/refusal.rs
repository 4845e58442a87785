//! Why a command about keys, people, sign-ins, policy or grants was refused.

/// Why a command about keys or people was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// A name that is not fit for a principal.
    #[error("`{field}` must be 1 to 128 of letters, digits and ._@+-:/, beginning with a letter or digit")]
    BadName {
        /// Which field.
        field: &'static str,
    },
    /// A person cannot be an agent, nor an agent a person.
    #[error("`{0}` is already the name of another kind of principal")]
    OtherKind(String),
    /// Only agents have owners.
    #[error("only an agent key has an owner")]
    OwnerOfPerson,
    /// The name looks like an existing one.
    #[error("`{name}` looks like `{other}`, which exists: choose a clearly different name")]
    LooksLike {
        /// The new name.
        name: String,
        /// The one that exists.
        other: String,
    },
    /// The name is reserved for Placet.
    #[error("`{0}` is a name that Placet uses itself: choose another")]
    Reserved(String),
    /// There is no such key.
    #[error("no such key")]
    NoKey,
    /// There is no such person.
    #[error("no such person")]
    NoPerson,
    /// The directory is held in memory, so it is bounded.
    #[error("a person belongs to at most {0} teams")]
    TooManyTeams(usize),
    /// A person needs at least one role.
    #[error("`roles` must name at least one of reviewer, admin, auditor")]
    NoRoles,
    /// Only programs have the agent role.
    #[error("a person cannot have the role `agent`")]
    AgentRole,
    /// At least one admin must remain.
    #[error("this would leave no admin: make another admin key first")]
    LastAdmin,
    /// Secrets are random, so a second use is a mistake.
    #[error("that secret is already in use")]
    SecretInUse,
    /// The directory is held in memory, so it is bounded.
    #[error("there are {0} keys, which is the limit: revoke some")]
    TooMany(usize),
    /// The policy in force has changed.
    #[error("the policy in force has changed since you read it: read it again, then put yours")]
    StalePolicy {
        /// The policy in force. None if it is the built-in one.
        active: Option<String>,
    },
    /// While the clock is behind the ledger, deadlines cannot be judged.
    #[error("the server's clock is behind its ledger: no grant can be given until the clock is corrected")]
    ClockBehind,
    /// There is no such agent.
    #[error("no such agent: make a key for it first (`placet key new --role agent`)")]
    NoAgent,
    /// A folder that cannot be opened to an agent.
    #[error("`{root}` cannot be opened to an agent: {why}")]
    BadRoot {
        /// Which.
        root: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Every path of every call is compared with them, so they are bounded.
    #[error("an agent has at most {0} folders: name one above them")]
    TooManyRoots(usize),
    /// A text of a report that is too long or cannot be shown.
    #[error("`{field}` must be readable texts of at most {most} bytes")]
    BadReport {
        /// Where.
        field: &'static str,
        /// The most bytes.
        most: usize,
    },
    /// Reports are held in memory, so they are bounded.
    #[error("a report has at most {0} parts")]
    TooManyParts(usize),
    /// As many as an agent may have.
    #[error("{0} programs of this agent have reported, which is the limit: an admin can forget them")]
    TooManyReports(usize),
    /// There is no such freeze.
    #[error("no such freeze: it was lifted, or it never existed")]
    NoFreeze,
    /// A freeze needs a reason that everybody can read.
    #[error("`reason` must be 1 to {0} bytes of readable text")]
    BadReason(usize),
    /// No call has a tool with such a name.
    #[error("`tool` must be 1 to 200 of the characters A-Z a-z 0-9 _ . / : -")]
    BadTool,
    /// Freezes are held in memory, so they are bounded.
    #[error("there are {0} freezes, which is the limit: lift some")]
    TooManyFreezes(usize),
    /// Nothing waits for a confirmation.
    #[error("there is nothing to confirm: nothing was restored, or it was confirmed before")]
    NothingToConfirm,
    /// There is no such grant.
    #[error("no such grant")]
    NoGrant,
    /// Grants are held in memory, so they are bounded.
    #[error("there are {0} grants, which is the limit: revoke some")]
    TooManyGrants(usize),
    /// The link was used, has expired, or never existed.
    #[error("the link does not work: it was used, or it is too old; ask for a new one")]
    BadLink,
    /// The name or the password is wrong, or the password has just changed.
    #[error("the name or the password is wrong")]
    BadCredentials,
    /// There is no such session, or it belongs to somebody else.
    #[error("no such session")]
    NoSession,
    /// Sessions are held in memory, so they are bounded.
    #[error("there are {0} sessions, which is the limit: end some")]
    TooManySessions(usize),
}
