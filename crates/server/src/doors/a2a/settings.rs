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

/// The desk's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Desk {
    /// What a waiting task is called.
    pub pause: Pause,
    /// Whether every outcome ends `COMPLETED`, a no among them; otherwise a no ends `REJECTED`.
    pub completed_always: bool,
}
