//! Programs for clusters, containers and infrastructure as code.

use super::{Program, Row};

const fn row(words: &'static str, flags: &'static str, operands: &'static str, says: &'static str) -> Row {
    Row { words, flags, operands, never: "", says }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["kubectl", "oc"],
        globals: "-n|--namespace=namespace --context=context --cluster=cluster --kubeconfig=config",
        anywhere: true,
        rows: &[
            Row {
                words: "delete",
                flags: "--force:force --grace-period= --wait= --ignore-not-found --now --cascade= --timeout=",
                operands: "resource name+",
                never: "/",
                says: "delete {resource} {name}[ by force{?force}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            },
            row(
                "delete",
                "--force:force --grace-period= --wait= --ignore-not-found --now --cascade= --timeout=",
                "thing:/+",
                "delete {thing}[ by force{?force}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "delete",
                "--all:all --force:force --grace-period= --wait= --ignore-not-found -A|--all-namespaces:everywhere",
                "resource",
                "{?all}delete every {resource}[ by force{?force}][ in all namespaces{?everywhere}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "delete",
                "-l|--selector=selector --force:force --grace-period= --wait= --ignore-not-found -A|--all-namespaces:everywhere",
                "resource",
                "delete every {resource} with the label {selector}[ by force{?force}][ in all namespaces{?everywhere}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "delete",
                "-f|--filename=*file --force:force --grace-period= --wait= --ignore-not-found",
                "",
                "delete all that {file} names[ by force{?force}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "apply",
                "-f|--filename=*file --server-side --force-conflicts:conflicts --wait= --timeout=",
                "",
                "apply {file}[, overruling conflicts{?conflicts}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "apply",
                "-k|--kustomize=dir --server-side --force-conflicts:conflicts",
                "",
                "apply the kustomization {dir}[, overruling conflicts{?conflicts}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "scale",
                "--replicas=replicas --timeout=",
                "thing:/+",
                "scale {thing} to {replicas} replicas[ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "scale",
                "--replicas=replicas --timeout=",
                "resource name",
                "scale {resource} {name} to {replicas} replicas[ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "rollout restart",
                "",
                "thing:/+",
                "restart {thing}[ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "rollout restart",
                "",
                "resource name",
                "restart {resource} {name}[ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "rollout undo",
                "--to-revision=revision",
                "thing:/",
                "roll {thing} back[ to the revision {revision}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "rollout undo",
                "--to-revision=revision",
                "resource name",
                "roll {resource} {name} back[ to the revision {revision}][ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "set image",
                "",
                "thing:/ image:=+",
                "set the image of {thing} to {image}[ in the namespace {namespace}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "drain",
                "--ignore-daemonsets --delete-emptydir-data:data --force:force --timeout= --grace-period=",
                "node",
                "drain the node {node}[ by force{?force}][, deleting its local data{?data}][, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "cordon",
                "",
                "node",
                "cordon the node {node}[, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "uncordon",
                "",
                "node",
                "uncordon the node {node}[, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row(
                "create namespace",
                "",
                "name",
                "create the namespace {name}[, context {context}][, cluster {cluster}][, with {config}]",
            ),
            row("config use-context", "", "name", "switch kubectl to the context {name}[, with {config}]"),
        ],
    },
    Program {
        names: &["helm"],
        globals: "-n|--namespace=namespace --kube-context=context --kubeconfig=config",
        anywhere: true,
        rows: &[
            row(
                "uninstall",
                "--keep-history --wait --timeout= --ignore-not-found",
                "release+",
                "uninstall the Helm release {release}[ in the namespace {namespace}][, context {context}][, with {config}]",
            ),
            row(
                "install",
                "-f|--values=*values --set=*set --version=version --wait --timeout= --atomic --create-namespace --repo=repo",
                "release chart",
                "install the Helm chart {chart}[ of {repo}] as {release}[, version {version}][, values {values}][, set {set}][ in the namespace {namespace}][, context {context}][, with {config}]",
            ),
            row(
                "upgrade",
                "-f|--values=*values --set=*set --version=version -i|--install --wait --timeout= --atomic --create-namespace --repo=repo --force:force",
                "release chart",
                "upgrade the Helm release {release} to the chart {chart}[ of {repo}][ by force{?force}][, version {version}][, values {values}][, set {set}][ in the namespace {namespace}][, context {context}][, with {config}]",
            ),
            row(
                "rollback",
                "--wait --timeout= --force:force",
                "release revision?",
                "roll the Helm release {release} back[ to the revision {revision}][ by force{?force}][ in the namespace {namespace}][, context {context}][, with {config}]",
            ),
        ],
    },
    Program {
        names: &["terraform", "tofu"],
        globals: "-chdir=dir",
        anywhere: false,
        rows: &[
            row(
                "destroy",
                "-target=*target -auto-approve|--auto-approve:auto -var=* -var-file=*file -input= -no-color -lock= -parallelism=",
                "",
                "destroy {target} with Terraform[ in {dir}][ with {file}][ without asking{?auto}]",
            ),
            row(
                "destroy",
                "-auto-approve|--auto-approve:auto -var=* -var-file=*file -input= -no-color -lock= -parallelism=",
                "",
                "destroy everything that Terraform manages[ in {dir}][ with {file}][ without asking{?auto}]",
            ),
            row(
                "apply",
                "-target=*target -replace=*replace -auto-approve|--auto-approve:auto -var=*var -var-file=*file -input= -no-color -lock= -parallelism=",
                "",
                "apply the Terraform configuration[ in {dir}][, only {target}][, replacing {replace}][ with {file}][ with {var}][ without asking{?auto}]",
            ),
            row(
                "apply",
                "-auto-approve|--auto-approve -input= -no-color -lock= -parallelism=",
                "plan",
                "apply the Terraform plan {plan}[ in {dir}]",
            ),
            row("state rm", "", "address+", "remove {address} from the Terraform state[ in {dir}]"),
            row(
                "workspace delete",
                "-force:force",
                "name",
                "delete the Terraform workspace {name}[ by force{?force}][ in {dir}]",
            ),
            row("workspace select", "", "name", "switch to the Terraform workspace {name}[ in {dir}]"),
        ],
    },
    Program {
        names: &["docker", "podman"],
        globals: "-H|--host=host --context=context",
        anywhere: false,
        rows: &[
            row(
                "rm",
                "-f|--force:force -v|--volumes:volumes",
                "name+",
                "delete the container {name}[ by force{?force}][ with its volumes{?volumes}][ on {host}][, context {context}]",
            ),
            row(
                "rmi",
                "-f|--force:force",
                "image+",
                "delete the image {image}[ by force{?force}][ on {host}][, context {context}]",
            ),
            row("stop", "-t|--time=", "name+", "stop the container {name}[ on {host}][, context {context}]"),
            row(
                "restart",
                "-t|--time=",
                "name+",
                "restart the container {name}[ on {host}][, context {context}]",
            ),
            row(
                "volume rm",
                "-f|--force",
                "name+",
                "delete the volume {name}[ on {host}][, context {context}]",
            ),
            row("push", "-q|--quiet", "image", "push the image {image}[ on {host}][, context {context}]"),
            row(
                "system prune",
                "-a|--all:all -f|--force --volumes:volumes",
                "",
                "delete unused containers, networks and images[, tagged images too{?all}][, volumes too{?volumes}][ on {host}][, context {context}]",
            ),
            row(
                "volume prune",
                "-a|--all:all -f|--force",
                "",
                "delete unused volumes[, named ones too{?all}][ on {host}][, context {context}]",
            ),
            row(
                "compose down",
                "-v|--volumes:volumes --remove-orphans",
                "",
                "stop and delete the containers of the Compose project[ with its volumes{?volumes}][ on {host}][, context {context}]",
            ),
        ],
    },
];
