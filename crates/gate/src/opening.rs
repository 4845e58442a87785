//! Questions of the hook program about opening a folder. The gate writes their text.

use placet_core::{
    Body, DecisionWord, Door, Invalid, OPEN_FOLDER, Spec, Terms, WeakKey, check_opening, opening,
};
use placet_ledger::hash;
use serde_json::{Map, Value, json};

use crate::{Gate, GateError};

impl Gate {
    /// Returns the spec unchanged, or the question if the hook program asks about a folder. Its text is Placet's own,
    /// and the folder must be valid and not yet open. The weak key comes from the folder, so there is one question
    /// about it at a time.
    pub(crate) fn worded(
        &self,
        source: &str,
        agent: &str,
        spec: Spec,
        weak: Option<WeakKey>,
    ) -> Result<(Spec, Option<WeakKey>), GateError> {
        let (Body::Confirmation(_), Some(folder)) = (&spec.body, spec.context.get(OPEN_FOLDER)) else {
            return Ok((spec, weak));
        };
        if !Door::named(source).resolves_paths() {
            return Ok((spec, weak));
        }
        let Value::String(folder) = folder else {
            return Err(Invalid::new(format!("/context/{OPEN_FOLDER}"), "expected a path").into());
        };
        check_opening(&self.store.directory(), agent, folder)?;
        let key = |domain| *hash(domain, &[agent.as_bytes(), b"\0", folder.as_bytes()]).as_bytes();
        let weak = WeakKey { scope: key("placet/opening/scope/v1"), same: key("placet/opening/v1") };
        // Nothing that an agent could say beside it.
        let allowed = vec![DecisionWord::Approve, DecisionWord::Deny];
        let terms = Terms { group: None, allowed, permit: false, ..spec.terms };
        let (cwd, about) = (("cwd".to_owned(), json!(folder)), (OPEN_FOLDER.to_owned(), json!(folder)));
        let context = Map::from_iter([cwd, about]);
        let spec = Spec { body: opening(agent, folder), context, summary: None, terms };
        Ok((spec, Some(weak)))
    }
}
