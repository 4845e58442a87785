//! Whether an agent behind us can be used as it is configured. Asked when the server starts, so that a wrong address is a
//! sentence then, and not a failure of every call later.

use std::time::Duration;

use http::HeaderMap;
use placet_a2a::Operation;
use serde_json::json;
use tokio::time::timeout;

use super::agent::{Agent, Calling, NoCard, Trouble};

/// How long an agent may take to say that it is there. One that is not there yet stops nobody.
const LONGEST: Duration = Duration::from_secs(5);

/// Why an agent cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not there now, and may be later.
    Away(String),
    /// It is there, and can never be used like this.
    Wrong(String),
}

/// Looks for its card, and for JSON-RPC where the card says.
pub(super) async fn check(agent: &Agent) -> Result<(), Problem> {
    let looked = timeout(LONGEST, look(agent)).await;
    looked.unwrap_or_else(|_| Err(Problem::Away("it says nothing in time".to_owned())))
}

async fn look(agent: &Agent) -> Result<(), Problem> {
    let wrong = |why: String| Err(Problem::Wrong(why));
    let card = match agent.read_card().await {
        Ok(card) => card,
        Err(NoCard::Away(why)) => return Err(Problem::Away(why)),
        Err(NoCard::Refused(status)) if status.is_server_error() => {
            return Err(Problem::Away(NoCard::Refused(status).to_string()));
        }
        Err(NoCard::Refused(status)) if [401, 403].contains(&status.as_u16()) => {
            return wrong(format!(
                "its card is not for us (status {}): `token_env` or `token_file` names what the agent knows us by",
                status.as_u16()
            ));
        }
        Err(NoCard::Refused(status)) => {
            let places = agent.card_places();
            let places = places.iter().filter(|place| !place.ends_with("/agent.json"));
            return wrong(format!(
                "there is no card at {} (status {}): `card` says where it is",
                places.map(String::as_str).collect::<Vec<_>>().join(" or "),
                status.as_u16()
            ));
        }
        Err(why @ NoCard::Nonsense(_)) => return wrong(format!("{why}: `card` says where it is")),
    };
    let Some(version) = card.versions.first() else {
        let offers = card.bindings();
        let offers = if offers.is_empty() { "nothing".to_owned() } else { offers };
        return wrong(format!(
            "its card offers {offers}, and no JSON-RPC of A2A 1.0 or 0.3, which is what agents are called with"
        ));
    };
    let identity = agent.identity(&HeaderMap::new(), "placet");
    let calling = Calling { version: *version, identity, extensions: Vec::new() };
    // A task that is not there: nothing happens, and the refusal shows that JSON-RPC is spoken here.
    let params = json!({"id": "placet-asks-whether-you-are-there"});
    match agent.call(&calling, Operation::Get, &params, LONGEST).await {
        Ok(_) | Err(Trouble::Refused(_)) => Ok(()),
        Err(Trouble::Away(why) | Trouble::Unclear(why)) => Err(Problem::Away(why)),
        Err(trouble @ Trouble::Status(status)) if status.is_server_error() => {
            Err(Problem::Away(trouble.to_string()))
        }
        // Callers may bring what lets them in, in headers that are passed on.
        Err(Trouble::Status(status)) if [401, 403].contains(&status.as_u16()) => Err(Problem::Away(format!(
            "it does not let us in (status {}): `token_env` or `token_file` names what the agent knows us by",
            status.as_u16()
        ))),
        Err(trouble) => wrong(format!(
            "{} does not speak JSON-RPC ({trouble}): `url` is the address of JSON-RPC, and `card` that of the card",
            card.address(*version)
        )),
    }
}
