//! Per-step decisions on a plan: every step is named exactly once, and the order given is the order approved.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{DecisionWord, Invalid, Plan};

/// What a reviewer says of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StepDecision {
    /// The step.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub id: String,
    /// `approve`, `edit` or `deny`.
    pub decision: DecisionWord,
    /// Replacement arguments, with `edit` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
}

/// Checks step decisions against their plan; `at` is the pointer to the list in the caller's body.
pub fn check_steps(plan: &Plan, steps: &[StepDecision], at: &str) -> Result<(), Invalid> {
    let mut previous = None;
    let mut approved = false;
    for (index, step) in steps.iter().enumerate() {
        let here = |field: &str| format!("{at}/{index}/{field}");
        let Some(position) = plan.steps.iter().position(|proposed| proposed.id == step.id) else {
            return Err(Invalid::new(here("id"), "the plan has no step with this id"));
        };
        if steps.iter().take(index).any(|earlier| earlier.id == step.id) {
            return Err(Invalid::new(here("id"), "the step is decided twice"));
        }
        if previous.is_some_and(|previous| position < previous) && !plan.can_modify {
            return Err(Invalid::new(
                here("id"),
                "the steps are in another order, and this plan cannot be modified",
            ));
        }
        previous = Some(position);
        match (step.decision, &step.arguments) {
            (DecisionWord::Approve, None) => approved = true,
            (DecisionWord::Deny, None) => {}
            (DecisionWord::Edit, Some(_)) if plan.can_modify => approved = true,
            (DecisionWord::Edit, Some(_)) => {
                return Err(Invalid::new(
                    here("decision"),
                    "this plan cannot be modified: approve or deny the step",
                ));
            }
            (DecisionWord::Edit, None) => {
                return Err(Invalid::new(
                    here("arguments"),
                    "an edited step needs its replacement arguments",
                ));
            }
            (DecisionWord::Approve | DecisionWord::Deny, Some(_)) => {
                return Err(Invalid::new(here("arguments"), "only an edited step carries arguments"));
            }
            (DecisionWord::Respond, _) => {
                return Err(Invalid::new(here("decision"), "a step takes approve, edit or deny"));
            }
        }
    }
    if let Some(missing) = plan.steps.iter().find(|proposed| !steps.iter().any(|step| step.id == proposed.id))
    {
        return Err(Invalid::new(
            at,
            format!("step `{}` is not decided: name every step of the plan", missing.id.escape_debug()),
        ));
    }
    if !approved {
        return Err(Invalid::new(at, "no step is approved: deny the plan instead"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(can_modify: bool) -> Plan {
        serde_json::from_value(json!({"title":"t","can_modify":can_modify,"steps":[
            {"id":"a","action":"x","description":""},{"id":"b","action":"y","description":"","optional":true}]}))
        .unwrap()
    }

    fn check(can_modify: bool, steps: Value) -> Result<(), String> {
        let steps: Vec<StepDecision> = serde_json::from_value(steps).unwrap();
        check_steps(&plan(can_modify), &steps, "/steps").map_err(|invalid| invalid.pointer)
    }

    #[test]
    fn every_step_must_be_named_exactly_once() {
        assert_eq!(
            check(true, json!([{"id":"a","decision":"approve"},{"id":"b","decision":"deny"}])),
            Ok(())
        );
        assert_eq!(check(true, json!([{"id":"a","decision":"approve"}])), Err("/steps".into()));
        assert_eq!(
            check(true, json!([{"id":"a","decision":"approve"},{"id":"a","decision":"deny"}])),
            Err("/steps/1/id".into())
        );
        assert_eq!(
            check(true, json!([{"id":"a","decision":"approve"},{"id":"z","decision":"deny"}])),
            Err("/steps/1/id".into())
        );
    }

    #[test]
    fn order_and_arguments_change_only_where_the_plan_can_be_modified() {
        let swapped = json!([{"id":"b","decision":"approve"},{"id":"a","decision":"approve"}]);
        assert_eq!(check(true, swapped.clone()), Ok(()));
        assert_eq!(check(false, swapped), Err("/steps/1/id".into()));
        let edited = json!([{"id":"a","decision":"edit","arguments":{}},{"id":"b","decision":"approve"}]);
        assert_eq!(check(true, edited.clone()), Ok(()));
        assert_eq!(check(false, edited), Err("/steps/0/decision".into()));
    }

    #[test]
    fn a_plan_without_an_approved_step_is_not_an_approval() {
        assert_eq!(
            check(true, json!([{"id":"a","decision":"deny"},{"id":"b","decision":"deny"}])),
            Err("/steps".into())
        );
    }

    #[test]
    fn arguments_belong_to_edits_alone() {
        assert_eq!(
            check(true, json!([{"id":"a","decision":"approve","arguments":{}},{"id":"b","decision":"deny"}])),
            Err("/steps/0/arguments".into())
        );
        assert_eq!(
            check(true, json!([{"id":"a","decision":"edit"},{"id":"b","decision":"deny"}])),
            Err("/steps/0/arguments".into())
        );
    }
}
