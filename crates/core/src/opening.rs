//! "Let NAME work in DIR?": a question of the hook program. Approving it opens a folder to the agent.

use std::time::Duration;

use crate::{
    Actor, AdminCommand, AdminEvent, Auth, Body, Confirmation, Context, Directory, Door, Event, Invalid,
    Refusal, Request, Role, State, Time, roots,
};

/// The context field that names the folder of such a question.
pub const OPEN_FOLDER: &str = "open_folder";

/// How long a deny keeps the same question from being asked again.
const A_DAY: Duration = Duration::from_hours(24);

/// Folders that any user of the machine can write to, or that do not last.
const PASSING: [&str; 6] =
    ["/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders"];

/// The question. Placet writes it: the agent chooses the folder and nothing else.
pub fn opening(agent: &str, folder: &str) -> Body {
    Body::Confirmation(Confirmation {
        message: format!("Let {agent} work in {folder}?"),
        details: Some(format!(
            "A yes opens this folder, and every folder in it, to `{agent}` until somebody closes it again. What the policy \
             lets pass in an open folder then runs without asking. With the preset for coding agents that is: reading, \
             changing files except protected ones, and, if `{agent}` is marked for it, confined commands such as tests and \
             builds. A no changes nothing. Only the owner of `{agent}` or an admin can say yes."
        )),
        confirm_label: "Open the folder".to_owned(),
        cancel_label: "No".to_owned(),
    })
}

/// Checks that a folder may be asked about: one project, by its plain path.
pub fn check_opening(directory: &Directory, agent: &str, folder: &str) -> Result<(), Invalid> {
    let refuse = |why: String| Err(Invalid::new(format!("/context/{OPEN_FOLDER}"), why));
    match roots::checked(&[folder.to_owned()]) {
        Err(no) => return refuse(no.to_string()),
        Ok(plain) if plain != [folder] => return refuse("it is not a plain path".to_owned()),
        Ok(_) => {}
    }
    if PASSING.iter().any(|passing| within(folder, passing)) {
        return refuse("it is a temporary folder: name a project".to_owned());
    }
    if directory.roots(agent).iter().any(|root| within(folder, root)) {
        return refuse(format!("it is open to `{agent}` already"));
    }
    Ok(())
}

/// Whether the first folder is the second one, or lies in it.
fn within(folder: &str, root: &str) -> bool {
    folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The folder that approving this question opens. None for questions of other doors, or in other words.
pub(crate) fn opens<'a>(
    source: &str,
    agent: &str,
    body: &Body,
    context: &'a serde_json::Map<String, serde_json::Value>,
) -> Option<&'a str> {
    let folder = context.get(OPEN_FOLDER)?.as_str()?;
    (Door::named(source).resolves_paths() && *body == opening(agent, folder)).then_some(folder)
}

impl Request {
    fn opens(&self) -> Option<&str> {
        let content = self.content.as_ref()?;
        opens(&self.source, &self.agent, &content.body, &content.context)
    }

    /// The refusal of a yes that would open a folder, where this person neither owns the agent nor is an admin.
    pub(crate) fn not_opener(&self, name: &str, directory: &Directory) -> Option<Refusal> {
        self.opens()?;
        let may = directory.owner(&self.agent) == Some(name) || directory.person(name, Role::Admin).is_some();
        (!may).then(|| Refusal::NotOwner(self.agent.clone()))
    }

    /// Whether a person refused to open the folder within the last day.
    pub fn is_no_for_today(&self, now: Time) -> bool {
        let said = self.decision.as_ref().filter(|decision| !decision.by.is_empty());
        self.state == State::Denied
            && said.is_some_and(|decision| now < decision.at.plus(A_DAY))
            && self.opens().is_some()
    }
}

/// What this person's approval also changes: it opens the folder. Refused if this person may not open folders to the
/// agent.
pub(crate) fn opened(
    request: &Request,
    actor: &Actor,
    cx: &Context<'_>,
) -> Result<Option<Box<AdminEvent>>, Refusal> {
    let Some(folder) = request.opens() else { return Ok(None) };
    let (agent, directory) = (&request.agent, cx.directory);
    // The open reviewer owns no agent.
    if actor.auth == Auth::Open {
        return Err(Refusal::NotOwner(agent.clone()));
    }
    if let Some(refusal) = request.not_opener(&actor.name, directory) {
        return Err(refusal);
    }
    let mut roots = directory.roots(agent).to_vec();
    if roots.iter().any(|root| within(folder, root)) {
        return Ok(None);
    }
    roots.push(folder.to_owned());
    let command = AdminCommand::PutRoots { agent: agent.clone(), roots };
    let mut event =
        directory.apply(&command, cx.now).map_err(|no| Invalid::new("/decision", no.to_string()))?;
    if let AdminEvent::RootsPut { request: why, .. } = &mut event {
        *why = Some(request.id);
    }
    Ok(Some(Box::new(event)))
}

/// Whether this vote approved the request.
pub(crate) fn is_yes(event: &Event) -> bool {
    matches!(event, Event::Decided { state: State::Approved, .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HOOK_PROGRAM;

    #[test]
    fn only_one_project_by_its_plain_path_is_asked_about() {
        let mut directory = Directory::default();
        directory.agents.entry("bot".to_owned()).or_default().roots = vec!["/srv/open".to_owned()];
        let check = |folder: &str| check_opening(&directory, "bot", folder).map_err(|no| no.message);
        for folder in ["/srv/app", "/home/ann/app", "/srv/opener", "/projects/tmp/x"] {
            assert_eq!(check(folder), Ok(()), "{folder}");
        }
        for folder in ["/", "/home/ann", "/root", "/srv/app/", "/srv//app", "app", "/etc/x", "/srv/../x"] {
            assert!(check(folder).is_err(), "{folder}");
        }
        for folder in ["/tmp/app", "/var/tmp/app", "/dev/shm/app"] {
            assert!(check(folder).unwrap_err().contains("temporary"), "{folder}");
        }
        for folder in ["/srv/open", "/srv/open/app"] {
            assert!(check(folder).unwrap_err().contains("already"), "{folder}");
        }
    }

    #[test]
    fn a_question_in_other_words_or_through_another_door_opens_nothing() {
        let context = |folder: &str| {
            serde_json::Map::from_iter([(OPEN_FOLDER.to_owned(), serde_json::Value::from(folder))])
        };
        let body = opening("bot", "/srv/app");
        assert_eq!(opens(HOOK_PROGRAM, "bot", &body, &context("/srv/app")), Some("/srv/app"));
        assert_eq!(opens("rest", "bot", &body, &context("/srv/app")), None);
        assert_eq!(opens(HOOK_PROGRAM, "imp", &body, &context("/srv/app")), None);
        assert_eq!(opens(HOOK_PROGRAM, "bot", &body, &context("/srv")), None, "another folder than it shows");
        let Body::Confirmation(shown) = body else { panic!("a confirmation") };
        let other = Body::Confirmation(Confirmation { details: Some("It is harmless".to_owned()), ..shown });
        assert_eq!(opens(HOOK_PROGRAM, "bot", &other, &context("/srv/app")), None);
    }
}
