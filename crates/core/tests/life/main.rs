//! The life cycle against a slow, obvious model of it, and the rules of the design one by one.

mod edges;
mod invariants;
mod model;
mod model_votes;
mod play;
mod properties;
mod record;
mod replies;
mod rules_credentials;
mod rules_kinds;
mod rules_permit;
mod rules_standing;
mod rules_votes;
mod scene;
mod script;
mod world;
