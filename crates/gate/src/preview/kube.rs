//! A change to a Kubernetes cluster, in its parts.

use placet_core::show;
use serde_json::Value;

use super::{deed::at, shown::ShownValue};

/// What is changed in a cluster. Every text is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kubernetes {
    /// Such as `delete`, `apply` or `scale`.
    pub(crate) verb: String,
    /// Such as `deployment`; empty if only a manifest says it.
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    /// The cluster or the context, as the arguments name it.
    pub(crate) cluster: Option<String>,
    /// What is applied, if it is a text.
    pub(crate) manifest: Option<String>,
    /// The arguments that are whole in it.
    pub(super) whole: Vec<ShownValue>,
}

const RESOURCE: &[&str] = &["resourceType", "resource_type", "resource_kind", "kind"];
const NAME: &[&str] = &[
    "name",
    "resource_name",
    "resourceName",
    "release",
    "release_name",
    "pod_name",
    "nodeName",
    "node_name",
];
const NAMESPACE: &[&str] = &["namespace", "ns"];
const CLUSTER: &[&str] = &["context", "cluster", "kubeContext", "kube_context"];
const MANIFEST: &[&str] = &["manifest", "resource", "yaml", "manifest_yaml"];

impl Kubernetes {
    /// The parts of a call by the names of its arguments.
    pub(super) fn of_arguments(verb: &str, named: &[(&str, &Value)]) -> Option<Self> {
        let mut whole = Vec::new();
        let mut take = |names: &[&str]| {
            let (key, text) = named.iter().find_map(|(key, value)| {
                let text = value.as_str().filter(|_| names.contains(key))?;
                Some((*key, show(text)))
            })?;
            whole.push(ShownValue { pointer: at(key), drawn: text.clone() });
            Some(text)
        };
        let (resource, name) = (take(RESOURCE), take(NAME));
        let (namespace, cluster, manifest) = (take(NAMESPACE), take(CLUSTER), take(MANIFEST));
        let known = match verb.split_once(' ') {
            // `delete pod`: the tool itself says what kind of thing it is about.
            Some((_, kind)) => resource.or_else(|| Some(kind.to_owned())),
            None => resource,
        };
        let verb = verb.split_once(' ').map_or(verb, |(verb, _)| verb).to_owned();
        (known.is_some() || name.is_some() || manifest.is_some()).then(|| Self {
            verb,
            resource: known.unwrap_or_default(),
            name,
            namespace,
            cluster,
            manifest,
            whole,
        })
    }

    /// Every text in it, for those who check that it holds what it claims.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        [&self.verb, &self.resource].into_iter().chain(
            [&self.name, &self.namespace, &self.cluster, &self.manifest]
                .into_iter()
                .filter_map(Option::as_ref),
        )
    }
}
