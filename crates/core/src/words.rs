//! The fixed words of the contract, each with one spelling on the wire, in the tables and in the ledger.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every word, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        // Written by hand: the derive does not see a `rename` that comes out of a macro.
        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some([$($text),+]))
                    .into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(format!("unknown word `{}`, expected one of: {}", text.escape_default(), [$($text),+].join(", "))),
                }
            }
        }
    };
}

words!(
    /// Whether Placet sees a thing that an agent can do.
    Seen {
        /// Every call asks.
        Gated = "gated",
        /// It is seen, and the program chose not to ask about it.
        Unasked = "unasked",
        /// It runs where Placet does not see it.
        Uncovered = "uncovered",
    }
);

words!(
    /// The coverage over all reports of an agent.
    Covered {
        /// Every program that reported is seen whole.
        Complete = "complete",
        /// Some program can do something out of sight.
        Partial = "partial",
        /// Nothing was reported.
        Unknown = "unknown",
    }
);

words!(
    /// What an agent asks for.
    Kind {
        /// Run this tool with these arguments.
        Action = "action",
        /// Ordered steps, each approvable.
        Plan = "plan",
        /// A question.
        Input = "input",
        /// Yes or no, with labels.
        Confirmation = "confirmation",
    }
);

words!(
    /// Where a request stands in its life.
    State {
        /// Held until enough people have voted.
        Pending = "pending",
        /// Yes. Final, unless there is a permit to claim.
        Approved = "approved",
        /// No.
        Denied = "denied",
        /// A person supplied the answer.
        Answered = "answered",
        /// Nobody decided in time.
        Expired = "expired",
        /// Withdrawn by its owner.
        Cancelled = "cancelled",
        /// The permit is in use.
        Claimed = "claimed",
        /// Approved, but not claimed in time.
        Lapsed = "lapsed",
        /// Approved, then taken back by a reviewer before it was claimed.
        Revoked = "revoked",
        /// Executed, and it worked.
        Succeeded = "succeeded",
        /// Executed, and it did not work.
        Failed = "failed",
        /// Claimed, and not reported in time.
        Unknown = "unknown",
    }
);

words!(
    /// How much harm the action could do; ordered.
    Risk {
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Beyond repair.
        Critical = "critical",
    }
);

words!(
    /// What a reviewer says.
    DecisionWord {
        /// Yes, exactly as proposed.
        Approve = "approve",
        /// Yes, with replacement arguments.
        Edit = "edit",
        /// No.
        Deny = "deny",
        /// Here is the answer.
        Respond = "respond",
    }
);

words!(
    /// The verdict of policy, before any person is asked.
    Effect {
        /// Nobody needs to be asked.
        Allow = "allow",
        /// A person must approve it.
        Hold = "hold",
        /// No.
        Deny = "deny",
    }
);

words!(
    /// How a call that is allowed must be confined.
    Confine {
        /// It changes the workspace and nothing else, and has no network: `placet run`.
        Workspace = "workspace",
    }
);

words!(
    /// What a key is for; a key has exactly one.
    Role {
        /// Asks, waits, claims, reports. Never decides.
        Agent = "agent",
        /// Decides.
        Reviewer = "reviewer",
        /// Keys, people and policy.
        Admin = "admin",
        /// Reads and verifies.
        Auditor = "auditor",
    }
);

words!(
    /// How a person signed in.
    Via {
        /// With a one-time link.
        Link = "link",
        /// With a password.
        Password = "password",
    }
);

words!(
    /// Why a session is over.
    SessionEnd {
        /// The person signed out.
        SignedOut = "signed_out",
        /// Ended from elsewhere: by the person, by an admin, by a new password, or for a newer session.
        Revoked = "revoked",
        /// It expired, or was not used for too long.
        Expired = "expired",
        /// There is no such person any more.
        PersonRemoved = "person_removed",
    }
);

impl DecisionWord {
    /// Whether a vote with this word is a yes. Every word is listed, so that a new word is not a yes by accident.
    #[must_use]
    pub const fn is_yes(self) -> bool {
        match self {
            Self::Approve | Self::Edit | Self::Respond => true,
            Self::Deny => false,
        }
    }

    /// The state of a request that was decided with this word.
    #[must_use]
    pub const fn state(self) -> State {
        match self {
            Self::Approve | Self::Edit => State::Approved,
            Self::Respond => State::Answered,
            Self::Deny => State::Denied,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back_as_itself_and_nothing_else_does() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(*state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert!("approve\u{200b}".parse::<DecisionWord>().is_err());
        assert!("Approve".parse::<DecisionWord>().is_err());
    }
}
