//! Deciding without a key, through doors whose clients never had one: only where the operator opened them, only from this
//! machine, and never from a page of somebody else's.

use axum::{extract::FromRequestParts, http::request::Parts};
use http::{HeaderValue, StatusCode, header};
use placet_core::Actor;

use crate::{
    State,
    call::{authenticate, called_by, is_local, within_rate},
    guard::Peer,
    problem::Problem,
    session,
};

/// Who calls to decide, or to look at what others asked: somebody with a key or a session, or, where the operator opened
/// the doors, whoever it is. Whether that is a reviewer is for the gate to say.
#[derive(Debug, Clone)]
pub(crate) struct Decider(pub(crate) Actor);

impl FromRequestParts<State> for Decider {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let actor = match open(parts, state)? {
            Some(actor) => {
                called_by(&actor);
                actor
            }
            None => authenticate(parts, state).await?,
        };
        within_rate(state, &actor)?;
        Ok(Self(actor))
    }
}

/// The open reviewer, if this call comes without credentials to doors that the operator opened.
fn open(parts: &Parts, state: &State) -> Result<Option<Actor>, Problem> {
    let settings = &state.settings;
    let credentials =
        parts.headers.contains_key(header::AUTHORIZATION) || session::signed_in(parts).is_some();
    let peer = parts.extensions.get::<Peer>().copied();
    if !(settings.dev && settings.open_decide) || credentials || !is_local(&parts.headers, peer) {
        return Ok(None);
    }
    if !page_may(parts, &settings.door_origins) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "pages of other origins cannot decide here: list the origin in `doors.origins` if it is yours",
        ));
    }
    Ok(Some(Actor::open_reviewer()))
}

/// Whether the page that makes the call, if one does, is ours or one that the operator listed.
fn page_may(parts: &Parts, origins: &[String]) -> bool {
    let mut said = parts.headers.get_all(header::ORIGIN).iter().map(HeaderValue::to_str);
    match (said.next(), said.next()) {
        (Some(Ok(origin)), None) if origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)) => true,
        (Some(_), Some(_)) => false,
        _ => session::is_own_page(parts),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn parts(headers: &[(&'static str, &'static str)]) -> Parts {
        let mut request = Request::builder().uri("/approvals/x/decide").header("host", "localhost:4000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_our_own_pages_and_listed_ones_may_decide() {
        let listed = ["http://localhost:5173".to_owned()];
        for good in [
            &[][..],
            &[("origin", "http://localhost:4000")],
            &[("origin", "http://localhost:5173")],
            &[("origin", "http://localhost:5173"), ("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
        ] {
            assert!(page_may(&parts(good), &listed), "{good:?}");
        }
        for bad in [
            &[("origin", "http://localhost:5174")][..],
            &[("origin", "http://127.0.0.1:5173")],
            &[("origin", "http://localhost:5173"), ("origin", "http://localhost:5173")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("origin", "https://evil.example")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
        ] {
            assert!(!page_may(&parts(bad), &listed), "{bad:?}");
        }
    }
}
