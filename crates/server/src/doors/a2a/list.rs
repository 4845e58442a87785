//! The desk's tasks of one caller, in pages, read from the list of its requests.

use std::{collections::HashMap, sync::Arc};

use placet_a2a::{Fault, ListTasks, Task};
use placet_core::{Actor, Request, Time};
use placet_gate::{Filter, Order};

use super::{
    desk::{SOURCE, fault, find},
    task::{Lineage, task},
};
use crate::State;

/// Requests read together, and how many times at most for one page of tasks, or to count those in a state.
const PAGE: u32 = 200;
const PAGES: usize = 10;
/// Requests looked at to count all tasks.
const COUNTED: u32 = 10_000;

/// A page of tasks.
pub(super) struct Listed {
    /// The newest first.
    pub(super) tasks: Vec<Task>,
    /// Where the next page begins, if there is one.
    pub(super) next: Option<String>,
    /// How many there are on all pages. Of a caller with very many requests, only the newest are counted.
    pub(super) total: usize,
}

/// The caller's tasks that fit.
pub(super) async fn list(state: &State, actor: &Actor, wanted: &ListTasks) -> Result<Listed, Fault> {
    let strange = |name: &str, what: &str| Fault::InvalidParams(format!("`params.{name}` is not {what}"));
    let token = wanted.page_token.as_deref().map(str::parse);
    let token: Option<u64> = token.transpose().map_err(|_| strange("pageToken", "one of ours"))?;
    let since = wanted.after.as_deref().map(str::parse);
    let since: Option<Time> = since.transpose().map_err(|_| strange("statusTimestampAfter", "a time"))?;
    let most = usize::try_from(wanted.page_size).unwrap_or(usize::MAX);
    let walk = Walk { state, actor, wanted, since };
    // One more than fits says that there is a next page.
    let found = walk.from(token, most + 1).await?;
    let total = if wanted.state.is_none() && since.is_none() {
        let count = state.gate.visible_groups(actor, walk.filter(None), COUNTED).await;
        usize::try_from(count.map_err(|error| fault(state, error))?).unwrap_or(usize::MAX)
    } else if token.is_none() && found.stopped.is_none() {
        found.tasks.len()
    } else {
        // Where a task stands is known once its requests were read.
        walk.from(None, usize::MAX).await?.tasks.len()
    };
    let more = found.tasks.len() > most;
    let shown: Vec<(u64, Task)> = found.tasks.into_iter().take(most).collect();
    let last = shown.last().map(|(seq, _)| *seq);
    let next = if more { last } else { found.stopped };
    Ok(Listed {
        tasks: shown.into_iter().map(|(_, task)| task).collect(),
        next: next.map(|seq| seq.to_string()),
        total,
    })
}

/// A walk through a caller's requests, the newest first.
struct Walk<'a> {
    state: &'a State,
    actor: &'a Actor,
    wanted: &'a ListTasks,
    since: Option<Time>,
}

/// What a walk found: tasks, each with the entry that made it, and where it stopped before the end.
struct TaskPage {
    tasks: Vec<(u64, Task)>,
    stopped: Option<u64>,
}

impl Walk<'_> {
    fn filter(&self, after: Option<u64>) -> Filter {
        Filter {
            session: self.wanted.context.clone(),
            source: Some(SOURCE.to_owned()),
            newest: true,
            after: after.map(|seq| Order { deadline: None, seq }),
            ..Filter::default()
        }
    }

    /// Walks on after an entry until there are enough, or as far as one call may.
    async fn from(&self, after: Option<u64>, enough: usize) -> Result<TaskPage, Fault> {
        let mut filter = self.filter(after);
        let wrong = |error| fault(self.state, error);
        let mut tasks = Vec::new();
        // Items of a task are made one after the other, so by the time the first is met the others were.
        let mut met: HashMap<String, Vec<Arc<Request>>> = HashMap::new();
        for _ in 0..PAGES {
            let page = self.state.gate.visible(self.actor, filter.clone(), PAGE).await.map_err(wrong)?;
            for request in page.items {
                let Some(lineage) = Lineage::of(&request) else { continue };
                let seq = request.seq;
                let items = met.entry(lineage.task.clone()).or_default();
                items.push(request);
                if lineage.item > 0 {
                    continue;
                }
                let items = met.remove(&lineage.task).unwrap_or_default();
                if let Some(task) = self.task(&lineage, &items).await?.filter(|task| self.fits(task)) {
                    tasks.push((seq, task));
                }
                if tasks.len() >= enough {
                    return Ok(TaskPage { tasks, stopped: Some(seq) });
                }
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => return Ok(TaskPage { tasks, stopped: None }),
            }
        }
        Ok(TaskPage { tasks, stopped: filter.after.map(|order| order.seq) })
    }

    /// The task that these are the items of. Where some lie before the beginning of the walk, it is read.
    async fn task(&self, lineage: &Lineage, items: &[Arc<Request>]) -> Result<Option<Task>, Fault> {
        if items.len() == lineage.items {
            let gate = &self.state.gate;
            return Ok(task(items, self.state.settings.desk, &|request| gate.card(request), gate.now()));
        }
        match find(self.state, self.actor, &lineage.task).await {
            Ok((task, _)) => Ok(Some(task)),
            Err(Fault::TaskNotFound(_)) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn fits(&self, task: &Task) -> bool {
        let at = || task.status.at.as_deref().and_then(|at| at.parse::<Time>().ok());
        self.wanted.state.is_none_or(|state| task.status.state == state)
            && self.since.is_none_or(|since| at().is_some_and(|at| at > since))
    }
}
