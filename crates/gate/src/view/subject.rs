//! What the card is about: what a yes would run, or what was decided, and its leaves.

use std::ops::ControlFlow;

use placet_core::{Body, DisplayField, Leaf, Plan, ProposalContent, Request, Segment, Step, StepDecision};
use serde_json::{Map, Value};

/// What a yes would run.
pub(super) struct Subject<'a> {
    /// Where the replacement stands on the record; empty without one.
    pub(super) at: &'static str,
    replacement: Option<&'a ProposalContent>,
    plan: Option<&'a Plan>,
    /// Whether some of it was erased, so that not all of it can be shown.
    pub(super) erased: bool,
}

/// A step that will run.
pub(super) struct RunningStep<'a> {
    pub(super) step: &'a Step,
    /// Its place in the plan.
    pub(super) at: String,
    pub(super) arguments: Option<&'a Map<String, Value>>,
    /// The place of the arguments, which a reviewer may have replaced.
    pub(super) arguments_at: String,
}

impl<'a> Subject<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        // After the decision, only the decision says what runs.
        let (at, replacement) = match (&request.decision, &request.proposal) {
            (Some(decision), _) if decision.content_version.is_some() => {
                ("decision", decision.content.as_deref())
            }
            (None, Some(proposal)) => ("proposal", proposal.content.as_deref()),
            _ => ("", None),
        };
        let plan = match request.content.as_deref().map(|content| &content.body) {
            Some(Body::Plan(plan)) => Some(plan),
            _ => None,
        };
        let lost = !at.is_empty() && replacement.is_none();
        Self { at, replacement, plan, erased: request.content.is_none() || lost }
    }

    /// The arguments of an action that would run, and their place.
    pub(super) fn arguments(&self, asked: &'a Map<String, Value>) -> (&'a Map<String, Value>, String) {
        match self.replacement.and_then(|content| content.arguments.as_ref()) {
            Some(replaced) => (replaced, format!("/{}/arguments", self.at)),
            None => (asked, "/arguments".to_owned()),
        }
    }

    /// The answer that a reviewer gives.
    pub(super) fn answer(&self) -> Option<&'a Value> {
        self.replacement?.answer.as_ref()
    }

    fn decided(&self) -> Option<&'a [StepDecision]> {
        self.replacement?.steps.as_deref()
    }

    /// The steps that will run, in order.
    pub(super) fn steps(&self, plan: &'a Plan) -> Vec<RunningStep<'a>> {
        let of = |index: usize, step: &'a Step| RunningStep {
            step,
            at: format!("/steps/{index}"),
            arguments: step.arguments.as_ref(),
            arguments_at: format!("/steps/{index}/arguments"),
        };
        let all = plan.steps.iter().enumerate();
        let Some(decided) = self.decided() else { return all.map(|(index, step)| of(index, step)).collect() };
        let running = decided.iter().enumerate().filter(|(_, decided)| decided.decision.is_yes());
        running
            .filter_map(|(place, decided)| {
                let (index, step) = all.clone().find(|(_, step)| step.id == decided.id)?;
                let mut running = of(index, step);
                if let Some(replaced) = &decided.arguments {
                    running.arguments = Some(replaced);
                    running.arguments_at = format!("/{}/steps/{place}/arguments", self.at);
                }
                Some(running)
            })
            .collect()
    }

    /// The place of the arguments that replace those of this step, if a reviewer replaced them.
    pub(super) fn replaced_step(&self, index: usize) -> Option<String> {
        let step = self.plan?.steps.get(index)?;
        let place = self.decided()?.iter().position(|decided| decided.id == step.id)?;
        self.decided()?.get(place)?.arguments.as_ref()?;
        Some(format!("/{}/steps/{place}/arguments", self.at))
    }

    /// Whether a written value belongs to what would run.
    fn has(&self, way: &[Segment<'_>]) -> bool {
        let lost = !self.at.is_empty() && self.replacement.is_none();
        match way {
            [Segment::Field("summary" | "group" | "arguments_schema"), ..] => false,
            [Segment::Field(place @ ("proposal" | "decision")), ..] => *place == self.at,
            [Segment::Field("arguments"), ..] => {
                !lost && self.replacement.is_none_or(|content| content.arguments.is_none())
            }
            [Segment::Field("steps"), ..] if lost => false,
            [Segment::Field("steps"), Segment::Index(index), Segment::Field("arguments"), ..] => {
                self.replaced_step(*index).is_none()
            }
            _ => true,
        }
    }

    /// Every leaf, in the order in which it is drawn.
    pub(super) fn leaves(&self, request: &'a Request) -> Vec<DisplayField> {
        let mut out = Vec::new();
        self.visit(request, &mut |way, leaf| out.extend(DisplayField::of(way, leaf)));
        out
    }

    /// How many leaves there are, without drawing them.
    pub(super) fn count(&self, request: &'a Request) -> usize {
        let mut count = 0_usize;
        self.visit(request, &mut |_, leaf| {
            count = count.saturating_add(usize::from(!matches!(leaf, Leaf::Key(_))));
        });
        count
    }

    fn visit(&self, request: &'a Request, visit: &mut dyn FnMut(&[Segment<'a>], Leaf<'a>)) {
        request.visit(&mut |way, leaf| {
            if self.has(way) {
                visit(way, leaf);
            }
            ControlFlow::Continue(())
        });
    }
}
