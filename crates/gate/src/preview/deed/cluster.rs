//! Tools for Kubernetes and Helm.

use super::{
    Shape,
    Weight::{Acts, Grave, Reads},
};

/// What a shape does to a cluster, and to what kind of thing if the tool says it.
pub(super) fn verb(shape: &Shape) -> Option<&'static str> {
    let verb = VERBS.iter().find(|(tool, _)| shape.tools.contains(tool))?;
    Some(verb.1)
}

const VERBS: &[(&str, &str)] = &[
    ("kubectl_delete", "delete"),
    ("pods_delete", "delete pod"),
    ("kubectl_apply", "apply"),
    ("resources_create_or_update", "apply"),
    ("kubectl_scale", "scale"),
    ("scale_deployment", "scale deployment"),
    ("kubectl_patch", "patch"),
    ("kubectl_rollout", "rollout"),
    ("kubectl_exec", "exec pod"),
    ("cordon_node", "cordon node"),
    ("drain_node", "drain node"),
    ("create_namespace", "create namespace"),
    ("delete_namespace", "delete namespace"),
    ("install_helm_chart", "install release"),
    ("upgrade_helm_chart", "upgrade release"),
    ("uninstall_helm_chart", "uninstall release"),
];

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        tools: &["kubectl_get", "resources_get", "resources_list", "k8s_get_resources", "kubectl_describe"],
        weight: Reads,
        says: "read {resourceType|resource_type|kind}[ {name|resource_name}][ in the namespace {namespace|ns}][ of all namespaces{?allNamespaces|all_namespaces}][, context {context|cluster}][ with the label {labelSelector|label_selector}]",
        aside: &["output", "sortBy", "fieldSelector", "apiVersion"],
    },
    Shape {
        tools: &["pods_log", "kubectl_logs", "k8s_get_pod_logs"],
        weight: Reads,
        says: "read the log of the pod {name|pod_name|pod}[, container {container}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["tail|tail_lines|tailLines", "previous", "since", "resourceType"],
    },
    Shape {
        tools: &[
            "kubectl_delete",
            "resources_delete",
            "k8s_delete_resource",
            "delete_resource",
            "delete_k8s_resource",
        ],
        weight: Grave,
        says: "delete {resourceType|resource_type|kind} {name|resource_name}[ by force{?force}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["gracePeriodSeconds|grace_period_seconds", "apiVersion|api_version"],
    },
    Shape {
        tools: &["kubectl_delete", "resources_delete", "k8s_delete_resource"],
        weight: Grave,
        says: "delete every {resourceType|resource_type|kind} with the label {labelSelector|label_selector}[ by force{?force}][ in all namespaces{?allNamespaces|all_namespaces}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["gracePeriodSeconds", "apiVersion"],
    },
    Shape {
        tools: &["pods_delete", "delete_pod", "k8s_delete_pod"],
        weight: Grave,
        says: "delete the pod {name|pod_name|pod}[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["delete_namespace"],
        weight: Grave,
        says: "delete the namespace {name|namespace} and everything in it[, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["create_namespace"],
        weight: Acts,
        says: "create the namespace {name|namespace}[, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &[
            "kubectl_apply",
            "resources_create_or_update",
            "k8s_apply_manifest",
            "apply_manifest",
            "kubectl_create",
        ],
        weight: Acts,
        says: "apply the manifest {\"manifest|resource|yaml|manifest_yaml}[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["kubectl_apply", "k8s_apply_manifest", "kubectl_create"],
        weight: Acts,
        says: "apply the file {filename|file|path}[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["kubectl_scale", "k8s_scale", "scale_resource"],
        weight: Acts,
        says: "scale {resourceType|resource_type|kind} {name|resource_name} to {replicas} replicas[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["kubectl_scale", "scale_deployment", "k8s_scale"],
        weight: Acts,
        says: "scale {name|deployment|deployment_name} to {replicas} replicas[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["kubectl_patch", "k8s_patch_resource"],
        weight: Acts,
        says: "patch {resourceType|resource_type|kind} {name|resource_name}[ with {\"patchData|patch}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["patchType|patch_type"],
    },
    Shape {
        tools: &["kubectl_rollout", "k8s_rollout"],
        weight: Acts,
        says: "rollout {subCommand|sub_command|action} of {resourceType|resource_type|kind} {name|resource_name}[ to the revision {revision|toRevision}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["timeout"],
    },
    Shape {
        tools: &["rollout_restart", "restart_deployment"],
        weight: Acts,
        says: "restart the deployment {name|deployment|deployment_name}[ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["kubectl_exec", "pods_exec", "exec_in_pod", "k8s_execute_command"],
        weight: Grave,
        says: "run {\"command|cmd} in the pod {name|pod_name|pod}[, container {container}][ in the namespace {namespace|ns}][, context {context|cluster}]",
        aside: &["timeout"],
    },
    Shape {
        tools: &["pods_run"],
        weight: Acts,
        says: "start a pod[ {name}] from the image {image}[ in the namespace {namespace|ns}]",
        aside: &["port"],
    },
    Shape {
        tools: &["cordon_node", "k8s_cordon"],
        weight: Acts,
        says: "cordon the node {name|nodeName|node_name|node}[, context {context|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["drain_node", "k8s_drain"],
        weight: Grave,
        says: "drain the node {name|nodeName|node_name|node}[ by force{?force}][, context {context|cluster}]",
        aside: &["ignoreDaemonsets|ignore_daemonsets", "gracePeriodSeconds|grace_period_seconds"],
    },
    Shape {
        tools: &["install_helm_chart", "helm_install", "helm_install_chart"],
        weight: Acts,
        says: "install the Helm chart {chart|chart_name}[ of {repo}] as {name|release|release_name}[, version {version}][ in the namespace {namespace|ns}][, context {context|kubeContext|cluster}]",
        aside: &["createNamespace|create_namespace"],
    },
    Shape {
        tools: &["upgrade_helm_chart", "helm_upgrade"],
        weight: Acts,
        says: "upgrade the Helm release {name|release|release_name} to the chart {chart|chart_name}[ of {repo}][, version {version}][ in the namespace {namespace|ns}][, context {context|kubeContext|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["uninstall_helm_chart", "helm_uninstall", "helm_delete"],
        weight: Grave,
        says: "uninstall the Helm release {name|release|release_name}[ in the namespace {namespace|ns}][, context {context|kubeContext|cluster}]",
        aside: &[],
    },
    Shape {
        tools: &["helm_rollback", "rollback_helm_release"],
        weight: Acts,
        says: "roll the Helm release {name|release|release_name} back[ to the revision {revision}][ in the namespace {namespace|ns}]",
        aside: &[],
    },
];
