//! Step decisions for a plan, from `--steps` or `--only`.

use placet_core::{DecisionWord, Record, StepDecision, show};
use serde_json::Value;

use super::json_argument;
use crate::{exit::usage, output::literal};

/// A decision for every step, as typed.
pub(crate) fn given(text: &str) -> anyhow::Result<Vec<StepDecision>> {
    let value = json_argument("--steps", text)?;
    serde_json::from_value(value).map_err(|error| {
        usage(format!(
            "`--steps`: expected a list such as [{{\"id\":\"fetch\",\"decision\":\"approve\"}}]: {error}"
        ))
    })
}

/// Approves these steps, in this order. The others are denied and keep their places.
pub(crate) fn only(record: &Record, wanted: &[String]) -> anyhow::Result<Vec<StepDecision>> {
    let steps = record.steps.as_deref().unwrap_or_default();
    for id in wanted {
        if !steps.iter().any(|step| step.id == *id) {
            let names = steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(usage(format!("`--only`: the plan has no step `{id}`; its steps are {names}")));
        }
    }
    // The approved steps fill the places of approved steps in the wanted order, so that denied steps keep theirs.
    let mut next = wanted.iter();
    let decide = |id: &str, decision| StepDecision { id: id.to_owned(), decision, arguments: None };
    let decided = steps.iter().map(|step| {
        if wanted.contains(&step.id)
            && let Some(id) = next.next()
        {
            return decide(id, DecisionWord::Approve);
        }
        decide(&step.id, DecisionWord::Deny)
    });
    Ok(decided.collect())
}

/// The decisions in words, for the question before they are sent.
pub(crate) fn in_words(steps: &[StepDecision]) -> String {
    let words = steps.iter().map(|step| {
        let arguments = step
            .arguments
            .as_ref()
            .map(|arguments| format!(" {}", literal(&Value::Object(arguments.clone()))));
        format!("{} {}{}", step.decision, show(&step.id), arguments.unwrap_or_default())
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn chosen(ids: &[&str]) -> Result<String, String> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        only(&sample::plan(), &ids).map(|steps| in_words(&steps)).map_err(|error| error.to_string())
    }

    #[test]
    fn only_names_the_approved_steps_and_the_rest_is_denied() {
        assert_eq!(chosen(&["list", "tell"]).unwrap(), "approve list, deny purge, approve tell");
        assert_eq!(chosen(&["tell", "list"]).unwrap(), "approve tell, deny purge, approve list");
    }

    #[test]
    fn an_unknown_step_is_named_with_those_that_exist() {
        assert_eq!(
            chosen(&["lits"]).unwrap_err(),
            "`--only`: the plan has no step `lits`; its steps are list, purge, tell"
        );
    }

    #[test]
    fn steps_are_a_list_of_decisions() {
        assert!(given("{}").unwrap_err().to_string().contains("expected a list such as"));
        assert!(given("[{\"id\":\"a\",\"decision\":\"maybe\"}]").is_err());
        assert_eq!(given("[{\"id\":\"a\",\"decision\":\"deny\"}]").unwrap().len(), 1);
    }
}
