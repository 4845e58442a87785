//! A policy: read and checked as a whole, compiled, and asked about calls.

use data_encoding::HEXLOWER;
use placet_core::Directory;
use sha2::{Digest as _, Sha256};

use crate::{
    Call, Explanation, Finding, Outcome, PolicyErrors, Problem,
    cosmetic::{self, Cosmetic},
    evaluate::Rules,
    explain, people, read,
    work::{Trouble, WorkBudget},
};

/// A policy: compiled, unchanging, and named by the digest of its text.
#[derive(Debug)]
pub struct Policy {
    text: String,
    hash: String,
    name: Option<String>,
    rules: Rules,
    cosmetic: Vec<Cosmetic>,
    warnings: Vec<Problem>,
}

impl Policy {
    /// Reads a policy and checks it as a whole: either all of it is good, or every problem is reported.
    pub fn parse(text: &str) -> Result<Self, PolicyErrors> {
        let read = read::read(text)?;
        let digest = Sha256::new().chain_update("placet/policy/v1\n").chain_update(text).finalize();
        Ok(Self {
            text: text.to_owned(),
            hash: format!("sha256:{}", HEXLOWER.encode(&digest)),
            name: read.name,
            rules: Rules::new(read.rules, read.defaults),
            cosmetic: read.cosmetic,
            warnings: read.warnings,
        })
    }

    /// Its version: a digest of its text.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its name, for people.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The names of its rules in the order of the file, those of presets after its own.
    pub fn rule_names(&self) -> impl Iterator<Item = &str> {
        self.rules.list.iter().map(|rule| rule.name.as_str())
    }

    /// What is allowed but probably not meant.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// What it says of a call. Never fails: an error inside makes the outcome stricter and is among the reasons.
    pub fn evaluate(&self, call: &Call<'_>) -> Outcome {
        self.rules.evaluate(call)
    }

    /// Every rule's word on a call, and what comes of them.
    pub fn explain(&self, call: &Call<'_>) -> Explanation {
        explain::explain(&self.hash, &self.rules, call)
    }

    /// What the people who exist can and cannot meet.
    pub fn check_people(&self, directory: &Directory) -> Vec<Finding> {
        people::check(&self.rules, directory)
    }

    /// Whether any rule lets trust be earned, so that looking for it is worth the while.
    pub fn offers_trust(&self) -> bool {
        self.rules.offers_trust
    }

    /// Arguments of such a call that change what is shown and not what is done. Standing approvals and trust do not
    /// compare them; what is asked, shown and run is whole.
    pub fn cosmetic(&self, call: &Call<'_>) -> Vec<String> {
        cosmetic::cosmetic(&self.cosmetic, call)
    }

    /// Whether the call names a file that any rule asks about: a secret, or what later runs or is obeyed.
    pub(crate) fn guards<'v>(&self, call: &Call<'v>, work: &WorkBudget<'v>) -> Result<bool, Trouble> {
        self.rules.guards(call, work)
    }

    /// Whether this call carries a free-form command, for which only the whole arguments can be remembered.
    pub fn free_form(&self, call: &Call<'_>) -> bool {
        crate::trust::free_form(&self.rules, call)
    }
}
