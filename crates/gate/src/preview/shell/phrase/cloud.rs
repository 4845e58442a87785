//! Programs of clouds.

use super::{Program, Row};

const fn row(words: &'static str, flags: &'static str, operands: &'static str, says: &'static str) -> Row {
    Row { words, flags, operands, never: "", says }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["aws"],
        globals: "--profile=profile --region=region --output= --no-cli-pager --endpoint-url=endpoint",
        anywhere: true,
        rows: &[
            row(
                "s3 rm",
                "--recursive:all --quiet",
                "url",
                "delete {url}[ and everything below it{?all}][ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3 rb",
                "--force:force",
                "url",
                "delete the bucket {url}[ and everything in it{?force}][ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3 cp",
                "--recursive:all --quiet --acl=acl",
                "from to",
                "copy {from}[ and everything below it{?all}] to {to}[, access {acl}][ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3 mv",
                "--recursive:all --quiet",
                "from to",
                "move {from}[ and everything below it{?all}] to {to}[ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3 sync",
                "--delete:delete --quiet --acl=acl",
                "from to",
                "copy what is new in {from} to {to}[ and delete there what is not in it{?delete}][, access {acl}][ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3api delete-bucket",
                "--bucket=bucket",
                "",
                "delete the bucket {bucket}[ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "s3api delete-object",
                "--bucket=bucket --key=key --version-id=version",
                "",
                "delete {key}[, version {version},] from the bucket {bucket}[ in the region {region}][, as the profile {profile}][ at {endpoint}]",
            ),
            row(
                "ec2 terminate-instances",
                "--instance-ids=+ids",
                "",
                "terminate the instances {ids}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "ec2 stop-instances",
                "--instance-ids=+ids --force:force",
                "",
                "stop the instances {ids}[ by force{?force}][ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "ec2 delete-volume",
                "--volume-id=id",
                "",
                "delete the volume {id}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "ec2 delete-snapshot",
                "--snapshot-id=id",
                "",
                "delete the snapshot {id}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "ec2 authorize-security-group-ingress",
                "--group-id=id --protocol=protocol --port=port --cidr=cidr",
                "",
                "open port {port} of the security group {id} to {cidr}[, {protocol}][ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "rds delete-db-instance",
                "--db-instance-identifier=id --skip-final-snapshot:skip --final-db-snapshot-identifier=snapshot --delete-automated-backups:backups --no-delete-automated-backups",
                "",
                "delete the database instance {id}[ without a final snapshot{?skip}][ after the snapshot {snapshot}][, its backups too{?backups}][ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "dynamodb delete-table",
                "--table-name=name",
                "",
                "delete the table {name}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "lambda delete-function",
                "--function-name=name",
                "",
                "delete the function {name}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "cloudformation delete-stack",
                "--stack-name=name",
                "",
                "delete the stack {name}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "eks delete-cluster",
                "--name=name",
                "",
                "delete the cluster {name}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "iam delete-user",
                "--user-name=name",
                "",
                "delete the user {name}[, as the profile {profile}]",
            ),
            row(
                "iam attach-user-policy",
                "--user-name=name --policy-arn=policy",
                "",
                "give the user {name} the policy {policy}[, as the profile {profile}]",
            ),
            row(
                "iam create-access-key",
                "--user-name=name",
                "",
                "create an access key for the user {name}[, as the profile {profile}]",
            ),
            row(
                "sqs purge-queue",
                "--queue-url=url",
                "",
                "delete all messages in {url}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "logs delete-log-group",
                "--log-group-name=name",
                "",
                "delete the log group {name}[ in the region {region}][, as the profile {profile}]",
            ),
            row(
                "secretsmanager delete-secret",
                "--secret-id=id --force-delete-without-recovery:force --recovery-window-in-days=days",
                "",
                "delete the secret {id}[ for good{?force}][, for good in {days} days][ in the region {region}][, as the profile {profile}]",
            ),
        ],
    },
    Program {
        names: &["gcloud"],
        globals: "--project=project --account=account --zone=zone --region=region -q|--quiet --format= --async",
        anywhere: true,
        rows: &[
            row(
                "compute instances delete",
                "",
                "name+",
                "delete the instance {name}[ in the zone {zone}][ of the project {project}][, as {account}]",
            ),
            row(
                "compute instances stop",
                "",
                "name+",
                "stop the instance {name}[ in the zone {zone}][ of the project {project}][, as {account}]",
            ),
            row(
                "compute disks delete",
                "",
                "name+",
                "delete the disk {name}[ in the zone {zone}][ of the project {project}][, as {account}]",
            ),
            row(
                "container clusters delete",
                "",
                "name+",
                "delete the cluster {name}[ in the zone {zone}][ in the region {region}][ of the project {project}][, as {account}]",
            ),
            row(
                "sql instances delete",
                "",
                "name",
                "delete the database instance {name}[ of the project {project}][, as {account}]",
            ),
            row(
                "sql databases delete",
                "-i|--instance=instance",
                "name",
                "delete the database {name} of the instance {instance}[ of the project {project}][, as {account}]",
            ),
            row(
                "run services delete",
                "--platform=",
                "name",
                "delete the service {name}[ in the region {region}][ of the project {project}][, as {account}]",
            ),
            row(
                "run deploy",
                "--image=image --platform= --allow-unauthenticated:open",
                "name",
                "deploy {image} as the service {name}[, open to everybody{?open}][ in the region {region}][ of the project {project}][, as {account}]",
            ),
            row(
                "functions delete",
                "",
                "name",
                "delete the function {name}[ in the region {region}][ of the project {project}][, as {account}]",
            ),
            row(
                "storage rm",
                "-r|-R|--recursive:all",
                "url+",
                "delete {url}[ and everything below it{?all}][ of the project {project}][, as {account}]",
            ),
            row(
                "projects delete",
                "",
                "name",
                "delete the project {name} and everything in it[, as {account}]",
            ),
            row(
                "projects add-iam-policy-binding",
                "--member=member --role=role --condition=",
                "name",
                "give {member} the role {role} in the project {name}[, as {account}]",
            ),
            row(
                "secrets delete",
                "",
                "name",
                "delete the secret {name}[ of the project {project}][, as {account}]",
            ),
        ],
    },
    Program {
        names: &["gsutil"],
        globals: "-m -q",
        anywhere: false,
        rows: &[
            row("rm", "-r|-R:all -f", "url+", "delete {url}[ and everything below it{?all}]"),
            row("rb", "-f", "url+", "delete the bucket {url}"),
        ],
    },
    Program {
        names: &["az"],
        globals: "--subscription=subscription -g|--resource-group=group -n|--name=name -y|--yes --no-wait -o|--output= --only-show-errors",
        anywhere: true,
        rows: &[
            row(
                "group delete",
                "",
                "",
                "delete the resource group {name} and everything in it[ of the subscription {subscription}]",
            ),
            row(
                "vm delete",
                "--force-deletion=",
                "",
                "delete the virtual machine {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "vm deallocate",
                "",
                "",
                "stop the virtual machine {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "sql db delete",
                "-s|--server=server",
                "",
                "delete the database {name} on {server}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "storage account delete",
                "",
                "",
                "delete the storage account {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "storage container delete",
                "--account-name=account",
                "",
                "delete the container {name}[ of the account {account}][ of the subscription {subscription}]",
            ),
            row(
                "aks delete",
                "",
                "",
                "delete the cluster {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "webapp delete",
                "",
                "",
                "delete the web app {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
            row(
                "keyvault delete",
                "",
                "",
                "delete the key vault {name}[ of the resource group {group}][ of the subscription {subscription}]",
            ),
        ],
    },
];
