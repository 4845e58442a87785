//! Evaluates policy: for a new request, and for what an edit would run instead.

use std::time::Duration;

use placet_core::{
    Action, Body, Confine, Content, Directory, Door, Effect, Escalation, Grant, Kind, Limits, Needs, Plan,
    ProposalContent, Request, Ruling, Step, Terms, Time, TrustOffer, TrustTerms, Verdict, folder,
};
use placet_ledger::hash;
use placet_policy::{Call, Claims, Outcome, Place, Policy, Trust, trust_material};
use placet_store::{planted, trust_key};
use serde_json::{Map, Value};

use crate::{Gate, GateError, grants::cosmetic, policies::LoadedPolicy};

/// The folder of a call of the hook program, if folders are open to its agent. Other doors do not resolve paths, so
/// for them the place of a call is unknown.
pub(crate) fn place<'a>(
    source: &str,
    agent: &str,
    context: &'a Map<String, Value>,
    directory: &'a Directory,
) -> Option<Place<'a>> {
    let roots = directory.roots(agent);
    let resolved = Door::named(source).resolves_paths() || planted("every-door-resolves-paths");
    let confines = directory.confines(agent, source) && says_confines(context) == Some(Confine::Workspace);
    (resolved && !roots.is_empty()).then_some(Place { roots, context, confines })
}

/// The outcome of policy for a call, limited to what the caller can do. Only the hook program of a marked agent can
/// confine calls, and only if it says so. Others are held.
pub(crate) fn confined(outcome: Outcome, call: &Call<'_>, directory: &Directory) -> Outcome {
    if outcome.confine.is_none() || planted("anybody-confines") {
        return outcome;
    }
    let (agent, says) = (call.agent, says_confines(call.claims.context));
    let why = if call.kind != Kind::Action || !Door::named(call.source).resolves_paths() {
        "only the hook program of a coding agent can confine calls".to_owned()
    } else if !directory.confines(agent, call.source) {
        format!("`{agent}` is not marked for that: `placet agent confine {agent}`")
    } else if says != outcome.confine {
        "its hook program cannot confine calls here".to_owned()
    } else {
        return outcome;
    };
    let reason = format!("rule `{}` allows it confined, and {why}", outcome.rule);
    Outcome {
        effect: Effect::Hold,
        confine: None,
        reasons: std::iter::once(reason).chain(outcome.reasons).collect(),
        ..outcome
    }
}

/// Where the hook program says, in the context of a request, how it can confine the call.
const CONFINES: &str = "confines";

fn says_confines(context: &Map<String, Value>) -> Option<Confine> {
    context.get(CONFINES)?.as_str()?.parse().ok()
}

/// A new request as policy sees it.
pub(crate) fn call_of_new<'a>(
    body: &'a Body,
    context: &'a Map<String, Value>,
    terms: &'a Terms,
    (agent, source): (&'a str, &'a str),
    time: Time,
) -> Call<'a> {
    let claims = Claims {
        session: &terms.session,
        context,
        risk: terms.risk,
        on_behalf_of: terms.on_behalf_of.as_deref(),
        group: terms.group.as_deref(),
    };
    Call::new(body, agent, source, time, claims)
}

/// A stored request as policy sees it, with its own body or another one.
pub(crate) fn call_of<'a>(
    request: &'a Request,
    content: &'a Content,
    body: &'a Body,
    time: Time,
) -> Call<'a> {
    let claims = Claims {
        session: &request.session,
        context: &content.context,
        risk: request.claimed,
        on_behalf_of: request.on_behalf_of.as_deref(),
        group: request.group.as_deref(),
    };
    Call::new(body, &request.agent, &request.source, time, claims)
}

/// What would run: the replaced arguments, or the approved steps.
fn replaced(body: &Body, proposal: &ProposalContent) -> Body {
    match (body, &proposal.arguments, &proposal.steps) {
        (Body::Action(action), Some(arguments), _) => {
            Body::Action(Action { arguments: arguments.clone(), ..action.clone() })
        }
        (Body::Plan(plan), _, Some(steps)) => {
            let decided = steps.iter().filter(|step| step.decision.is_yes());
            let steps = decided.filter_map(|decided| {
                let step = plan.steps.iter().find(|step| step.id == decided.id)?;
                let arguments = decided.arguments.clone().or_else(|| step.arguments.clone());
                Some(Step { arguments, ..step.clone() })
            });
            Body::Plan(Plan { steps: steps.collect(), ..plan.clone() })
        }
        (body, ..) => body.clone(),
    }
}

/// The terms by which approvals add up: bound to every rule that holds the call, not only to the first.
fn terms(outcome: &Outcome, trust: &Trust) -> TrustTerms {
    let rules: Vec<&str> = outcome.rules.iter().map(String::as_str).collect();
    let plain = rules.len() <= NAMED && !rules.iter().any(|rule| rule.contains(','));
    let rule = if rules.is_empty() {
        outcome.rule.clone()
    } else if plain {
        rules.join(", ")
    } else {
        // All of them count, and the record stays small.
        let named = rules.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let parts: Vec<&[u8]> = rules.iter().flat_map(|rule| [rule.as_bytes(), b"\0"]).collect();
        format!("{named}: {} in all, {}", rules.len(), hash("placet/rules/v1", &parts))
    };
    let (after, template) = (trust.after, trust.template.clone());
    TrustTerms { rule, after, template, cosmetic: Vec::new(), bound: true }
}

/// The number of rules that the terms of trust list by name.
const NAMED: usize = 16;

/// The time for deciding, by policy. An agent can only ask for less. If there is an escalation, it cannot shorten the
/// first step, because it would choose who decides.
pub(crate) fn time_to_decide(
    asked: Option<Duration>,
    outcome: &Outcome,
    terms: &Terms,
    limits: &Limits,
) -> Duration {
    let shortens = outcome.escalation.is_empty() || planted("agent-skips-a-tier");
    match (outcome.expires_in, asked) {
        (Some(policy), Some(asked)) if shortens => policy.min(asked),
        (Some(policy), _) => policy.min(limits.expires_in_max),
        (None, _) if shortens => terms.expires_in,
        (None, _) => terms.expires_in.max(limits.expires_in),
    }
}

/// The verdict as it is recorded.
pub(crate) fn verdict(outcome: &Outcome, version: &LoadedPolicy) -> Verdict {
    Verdict {
        effect: outcome.effect,
        confine: outcome.confine,
        rule: outcome.rule.clone(),
        policy: version.hash().to_owned(),
        reasons: outcome.reasons.clone(),
    }
}

impl Gate {
    /// The needs of policy, and at least what this server needs for every held request.
    pub(crate) fn at_least(&self, needs: &Needs) -> Needs {
        // Any needs that can be met need at least one person.
        if self.settings.needs == Needs::default() {
            return needs.clone();
        }
        needs.raised(&self.settings.needs)
    }

    /// The same along an escalation.
    pub(crate) fn at_least_all(&self, chain: &[Escalation]) -> Vec<Escalation> {
        let raised =
            |next: &Escalation| Escalation { needs: self.at_least(&next.needs), expires_in: next.expires_in };
        chain.iter().map(raised).collect()
    }

    /// The trust that a held request may use, and what its decision adds to it, if policy offers trust.
    ///
    /// The digest uses nothing that the agent says about itself, except its folder. So a deny counts for the call
    /// under every name and in every folder. What the agent says can only rule out that this request uses trust.
    pub(crate) fn trust_offer(
        &self,
        call: &Call<'_>,
        outcome: &Outcome,
        version: &LoadedPolicy,
    ) -> Result<Option<TrustOffer>, GateError> {
        let offers = version.good().is_some_and(Policy::offers_trust);
        if !offers || outcome.effect != Effect::Hold || call.kind != Kind::Action {
            return Ok(None);
        }
        let silent = Map::new();
        let unclaimed = Call {
            claims: Claims { session: "", context: &silent, risk: None, on_behalf_of: None, group: None },
            place: None,
            ..*call
        };
        let plain = version.evaluate(&unclaimed);
        let (Some(trust), Some(tool), Some(arguments)) = (&plain.trust, call.tool, call.arguments) else {
            return Ok(None);
        };
        if plain.effect != Effect::Hold || trust_material(call, trust).is_none() {
            return Ok(None);
        }
        let mut terms = terms(&plain, trust);
        let usable = outcome.risk <= Grant::RISK
            && outcome.trust.as_ref().is_some_and(|claimed| {
                terms.after = terms.after.max(claimed.after);
                claimed.template == trust.template
            });
        terms.cosmetic = cosmetic(version, call);
        let (secret, folder) = (self.store.secret(), folder(call.claims.context));
        let key = trust_key(&secret, version.hash(), &terms, call.agent, tool, arguments, folder)?;
        Ok(Some(TrustOffer { terms, key, usable }))
    }

    /// The verdict on a replacement: by the request's own policy and the one in force, the stricter of both.
    pub(crate) async fn ruling(
        &self,
        request: &Request,
        content: &Content,
        proposal: &ProposalContent,
    ) -> Result<Option<Box<Ruling>>, GateError> {
        if proposal.arguments.is_none() && proposal.steps.is_none() {
            return Ok(None);
        }
        let (own, in_force) = (self.version(&request.verdict.policy).await?, self.in_force().await?);
        let body = replaced(&content.body, proposal);
        let covered = self.store.directory().covered(&request.agent);
        let call = call_of(request, content, &body, self.now()).covered(covered);
        let mut outcome = in_force.evaluate(&call);
        if own.hash() != in_force.hash() {
            outcome = outcome.join(own.evaluate(&call));
        }
        // If policy allows the replacement, the people who are already asked are enough.
        let needs = match outcome.effect {
            Effect::Allow => Needs::default(),
            Effect::Hold | Effect::Deny => self.at_least(&outcome.needs),
        };
        Ok(Some(Box::new(Ruling { verdict: verdict(&outcome, &in_force), risk: outcome.risk, needs })))
    }
}

#[cfg(test)]
mod tests {
    use placet_core::Risk;

    use super::*;

    #[test]
    fn trust_is_bound_to_every_rule_that_holds() {
        let trust = Trust { after: 3, template: None };
        let mut outcome = Outcome {
            effect: Effect::Hold,
            confine: None,
            rule: "a".to_owned(),
            rules: ["a".to_owned(), "b".to_owned()].into(),
            reads_only: false,
            reasons: vec!["rule `c`: what is written for people binds nothing".to_owned()],
            risk: Risk::Low,
            needs: Needs::default(),
            expires_in: None,
            escalation: Vec::new(),
            claim_window: None,
            decisions: None,
            pending_cap: None,
            trust: None,
        };
        assert_eq!(terms(&outcome, &trust).rule, "a, b");
        outcome.rules.clear();
        assert_eq!(terms(&outcome, &trust).rule, "a");
        let many = |count: usize| (0..count).map(|number| format!("rule-{number:02}")).collect();
        let [sixteen, seventeen, eighteen] = [16, 17, 18].map(|count| {
            outcome.rules = many(count);
            terms(&outcome, &trust).rule
        });
        assert!(sixteen.ends_with("rule-15"), "{sixteen}");
        assert!(seventeen.starts_with(&sixteen) && seventeen.contains("17 in all"), "{seventeen}");
        assert_ne!(seventeen, eighteen);
        assert!(eighteen.len() < 500, "{eighteen}");
        // One rule whose name looks like two.
        outcome.rules = ["a, b".to_owned()].into();
        assert_ne!(terms(&outcome, &trust).rule, "a, b");
    }
}
