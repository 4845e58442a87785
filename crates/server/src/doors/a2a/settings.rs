//! How the desk behaves, as the operator set it.

/// What a task of the desk is called while people decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pause {
    /// `INPUT_REQUIRED`: most clients know that somebody has to do something.
    #[default]
    InputRequired,
    /// `AUTH_REQUIRED`: the protocol's word for a decision that comes by another way.
    AuthRequired,
    /// `WORKING`: for callers that take every interruption for a question to themselves.
    Working,
}

/// Whose card is at the root of this host, where clients look who know nothing but the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RootCard {
    /// The approval desk's.
    #[default]
    Desk,
    /// That of an agent behind us.
    Agent {
        /// The first part of its address here.
        namespace: String,
        /// The second.
        agent: String,
    },
    /// Nobody's.
    None,
}

/// The desk's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Desk {
    /// What a waiting task is called.
    pub pause: Pause,
    /// Whether every outcome ends `COMPLETED`, a no among them; otherwise a no ends `REJECTED`.
    pub completed_always: bool,
}
