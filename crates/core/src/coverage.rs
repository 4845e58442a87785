//! What Placet sees of an agent, as the agent's own adapters report it. Unproven: rules can use it to hold or deny,
//! never to allow.

use serde::{Deserialize, Serialize};

use crate::{AdminRefusal, Covered, Directory, Seen, visible};

/// Most programs of one agent that report.
const PROGRAMS: usize = 8;
/// Most parts of one report.
const PARTS: usize = 256;
/// Longest name and longest reason, in bytes.
const NAME: usize = 200;
const WHY: usize = 300;

/// What one program of an agent can do, part by part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The framework it is written with, such as `google-adk`.
    pub framework: String,
    /// What the program calls its outermost agent.
    pub program: String,
    /// Everything it can do.
    pub parts: Vec<Part>,
}

/// One thing that a program can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The tool, toolset or agent.
    pub name: String,
    /// What it is: `tool`, `hosted`, `code` and so on.
    pub kind: String,
    /// The agent inside the program that has it.
    pub agent: String,
    /// Whether Placet sees it.
    pub status: Seen,
    /// Why that is so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Coverage {
    /// Whether something runs where Placet does not see it.
    pub fn is_partial(&self) -> bool {
        self.parts.iter().any(|part| part.status == Seen::Uncovered)
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.framework, &self.program) == (&other.framework, &other.program)
    }

    /// The report, if it is valid and can be shown.
    fn checked(&self) -> Result<Self, AdminRefusal> {
        let refuse = |field, most| Err(AdminRefusal::BadReport { field, most });
        let plain = |text: &str| text.chars().all(|letter| letter == ' ' || visible(letter));
        let named = |text: &str| (1..=NAME).contains(&text.len()) && plain(text);
        if !named(&self.framework) {
            return refuse("framework", NAME);
        }
        if !named(&self.program) {
            return refuse("agent", NAME);
        }
        if self.parts.len() > PARTS {
            return Err(AdminRefusal::TooManyParts(PARTS));
        }
        for part in &self.parts {
            if ![&part.name, &part.kind, &part.agent].into_iter().all(|text| named(text)) {
                return refuse("parts", NAME);
            }
            if part.why.len() > WHY || !plain(&part.why) {
                return refuse("parts", WHY);
            }
        }
        Ok(self.clone())
    }
}

impl Directory {
    /// What an agent reports of itself, program by program.
    pub fn coverage(&self, agent: &str) -> &[Coverage] {
        self.agents.get(agent).map_or(&[], |agent| &agent.coverage)
    }

    /// The coverage over all reports.
    pub fn covered(&self, agent: &str) -> Covered {
        match self.coverage(agent) {
            [] => Covered::Unknown,
            reports if reports.iter().any(Coverage::is_partial) => Covered::Partial,
            _ => Covered::Complete,
        }
    }

    /// Whether the agent reported the same before.
    pub fn reports_the_same(&self, agent: &str, report: &Coverage) -> bool {
        self.coverage(agent).contains(report)
    }

    /// The report if it is valid, or the reason why not.
    pub(crate) fn may_report(&self, agent: &str, report: &Coverage) -> Result<Coverage, AdminRefusal> {
        let known = self.agents.get(agent).ok_or(AdminRefusal::NoAgent)?;
        let new = !known.coverage.iter().any(|other| other.is_of(report));
        if new && known.coverage.len() >= PROGRAMS {
            return Err(AdminRefusal::TooManyReports(PROGRAMS));
        }
        report.checked()
    }

    /// Replaces the earlier report of the same program.
    pub(crate) fn reported(&mut self, agent: &str, report: &Coverage) {
        let reports = &mut self.agents.entry(agent.to_owned()).or_default().coverage;
        match reports.iter_mut().find(|other| other.is_of(report)) {
            Some(before) => before.clone_from(report),
            None => reports.push(report.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    fn report(program: &str, status: Seen) -> Coverage {
        let part = Part {
            name: "search".to_owned(),
            kind: "hosted".to_owned(),
            agent: program.to_owned(),
            status,
            why: String::new(),
        };
        Coverage { framework: "google-adk".to_owned(), program: program.to_owned(), parts: vec![part] }
    }

    fn with_bot() -> Directory {
        Directory { agents: [("bot".to_owned(), Agent::default())].into(), ..Directory::default() }
    }

    #[test]
    fn one_program_out_of_sight_makes_the_agent_partial() {
        let mut directory = with_bot();
        assert_eq!(directory.covered("bot"), Covered::Unknown);
        assert_eq!(directory.covered("nobody"), Covered::Unknown);
        directory.reported("bot", &report("desk", Seen::Gated));
        assert_eq!(directory.covered("bot"), Covered::Complete);
        directory.reported("bot", &report("shop", Seen::Uncovered));
        assert_eq!(directory.covered("bot"), Covered::Partial);
        directory.reported("bot", &report("shop", Seen::Unasked));
        assert_eq!(directory.covered("bot"), Covered::Complete);
        assert_eq!(directory.coverage("bot").len(), 2);
    }

    #[test]
    fn a_report_is_bounded_and_can_be_shown() {
        let directory = with_bot();
        assert_eq!(directory.may_report("x", &report("desk", Seen::Gated)), Err(AdminRefusal::NoAgent));
        for bad in ["", "a\nb", "a\u{202e}b", &"x".repeat(NAME + 1)] {
            assert!(directory.may_report("bot", &report(bad, Seen::Gated)).is_err(), "{bad:?}");
        }
        let mut many = report("desk", Seen::Gated);
        many.parts = vec![many.parts[0].clone(); PARTS + 1];
        assert_eq!(directory.may_report("bot", &many), Err(AdminRefusal::TooManyParts(PARTS)));
        many.parts.truncate(PARTS);
        assert!(directory.may_report("bot", &many).is_ok());
        many.parts[0].why = "x".repeat(WHY + 1);
        assert!(directory.may_report("bot", &many).is_err());
    }

    #[test]
    fn an_agent_has_so_many_programs_and_each_can_report_again() {
        let mut directory = with_bot();
        for number in 0..PROGRAMS {
            let new = report(&number.to_string(), Seen::Gated);
            assert!(directory.may_report("bot", &new).is_ok());
            directory.reported("bot", &new);
        }
        let one_more = directory.may_report("bot", &report("more", Seen::Gated));
        assert_eq!(one_more, Err(AdminRefusal::TooManyReports(PROGRAMS)));
        assert!(directory.may_report("bot", &report("0", Seen::Uncovered)).is_ok());
    }
}
