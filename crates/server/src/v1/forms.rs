//! Forms of texts that several bodies have in common, for the OpenAPI document.

use utoipa::ToSchema;

/// The name of an agent, a person or a team.
#[derive(ToSchema)]
#[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9][A-Za-z0-9._@+:/-]*$")]
pub(crate) struct Name(#[expect(dead_code, reason = "describes a text")] String);

/// A reviewer's name, or `team:` and the name of a team.
#[derive(ToSchema)]
#[schema(as = Asked, min_length = 1, max_length = 133, pattern = "^(team:)?[A-Za-z0-9][A-Za-z0-9._@+:/-]*$")]
pub(crate) struct ReviewerOrTeam(#[expect(dead_code, reason = "describes a text")] String);

/// An absolute path.
#[derive(ToSchema)]
#[schema(max_length = 4096, pattern = "^/")]
pub(crate) struct Folder(#[expect(dead_code, reason = "describes a text")] String);
