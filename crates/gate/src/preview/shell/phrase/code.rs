//! Programs for repositories and packages.

use super::{Program, Row};

const fn row(words: &'static str, flags: &'static str, operands: &'static str, says: &'static str) -> Row {
    Row { words, flags, operands, never: ":+*^", says }
}

pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["git"],
        globals: "-C=dir --no-pager",
        anywhere: false,
        rows: &[
            row(
                "push",
                "-d|--delete:delete -q|--quiet -v|--verbose --no-verify",
                "remote ref+",
                "{?delete}delete the branch or tag {ref} on {remote}[ in {dir}]",
            ),
            row(
                "push",
                "-f|--force:force --no-verify:hooks -u|--set-upstream -q|--quiet -v|--verbose",
                "remote ref+",
                "{?force}force-push {ref} to {remote}[ in {dir}][, skipping the hooks{?hooks}]",
            ),
            row(
                "push",
                "--force-with-lease:lease --no-verify:hooks -u|--set-upstream -q|--quiet -v|--verbose",
                "remote ref+",
                "push {ref} to {remote}[ in {dir}][, by force if nobody else pushed{?lease}][, skipping the hooks{?hooks}]",
            ),
            row(
                "push",
                "--tags:tags -q|--quiet -v|--verbose",
                "remote",
                "{?tags}push all tags to {remote}[ in {dir}]",
            ),
            row(
                "merge",
                "--no-ff --ff-only:only --squash:squash -m= --no-edit --no-commit:stop -q|--quiet",
                "ref+",
                "merge {ref} into the current branch[ in {dir}][, only fast-forward{?only}][, squashed{?squash}][, without a commit{?stop}]",
            ),
            row(
                "reset",
                "--hard:hard -q|--quiet",
                "ref?",
                "{?hard}reset the branch and all tracked files[ to {ref}][ in {dir}]",
            ),
            row(
                "clean",
                "-f|--force:force -d:dirs -x:ignored -q|--quiet",
                "path*",
                "{?force}delete untracked files[ and folders{?dirs}][, ignored ones too{?ignored}][ below {path}][ in {dir}]",
            ),
            row(
                "branch",
                "-d|--delete:delete -D:gone -q|--quiet",
                "branch+",
                "{?gone}delete the branch {branch}, merged or not[ in {dir}]",
            ),
            row(
                "branch",
                "-d|--delete:delete -q|--quiet",
                "branch+",
                "{?delete}delete the merged branch {branch}[ in {dir}]",
            ),
            row("tag", "-d|--delete:delete", "tag+", "{?delete}delete the tag {tag}[ in {dir}]"),
            Row {
                words: "remote set-url",
                flags: "",
                operands: "remote url",
                never: "",
                says: "point the remote {remote} to {url}[ in {dir}]",
            },
            Row {
                words: "remote add",
                flags: "",
                operands: "remote url",
                never: "",
                says: "add the remote {remote} at {url}[ in {dir}]",
            },
            row("stash clear", "", "", "delete all stashes[ in {dir}]"),
        ],
    },
    Program {
        names: &["gh"],
        globals: "-R|--repo=repo",
        anywhere: true,
        rows: &[
            row(
                "pr merge",
                "-s|--squash:squash -m|--merge:merge -r|--rebase:rebase -d|--delete-branch:delete --admin:admin --auto:auto",
                "number",
                "merge pull request {number}[ of {repo}][ by squashing{?squash}][ by rebasing{?rebase}][, deleting its branch{?delete}][, past the rules as admin{?admin}][, once its checks pass{?auto}]",
            ),
            row(
                "pr close",
                "-d|--delete-branch:delete",
                "number",
                "close pull request {number}[ of {repo}][ and delete its branch{?delete}]",
            ),
            Row {
                words: "pr create",
                flags: "-t|--title=title -b|--body= -B|--base=base -H|--head=head -d|--draft -f|--fill",
                operands: "",
                never: "",
                says: "open a pull request[ from {head}][ to {base}][ in {repo}][: {\"title}]",
            },
            row("issue close", "", "number", "close issue {number}[ of {repo}]"),
            row("repo delete", "--yes", "name", "delete the repository {name}"),
            row(
                "release delete",
                "-y|--yes --cleanup-tag:tag",
                "name",
                "delete the release {name}[ of {repo}][ and its tag{?tag}]",
            ),
            Row {
                words: "workflow run",
                flags: "-r|--ref=ref",
                operands: "name",
                never: "",
                says: "start the workflow {name}[ of {repo}][ at {ref}]",
            },
            Row {
                words: "secret delete",
                flags: "",
                operands: "name",
                never: "",
                says: "delete the secret {name}[ of {repo}]",
            },
        ],
    },
    Program {
        names: &["npm", "pnpm"],
        globals: "--prefix=dir",
        anywhere: true,
        rows: &[
            row(
                "publish",
                "--access=access --tag=tag --otp=",
                "",
                "publish the package[ in {dir}] to its registry[ as {tag}][, access {access}]",
            ),
            Row {
                words: "unpublish",
                flags: "-f|--force",
                operands: "name",
                never: "",
                says: "take the package {name} back from its registry",
            },
        ],
    },
    Program {
        names: &["cargo"],
        globals: "",
        anywhere: true,
        rows: &[row(
            "publish",
            "-p|--package=package --allow-dirty:dirty --no-verify:unbuilt --locked",
            "",
            "publish the crate[ {package}][ with uncommitted changes{?dirty}][ without building it{?unbuilt}]",
        )],
    },
    Program {
        names: &["twine"],
        globals: "",
        anywhere: true,
        rows: &[Row {
            words: "upload",
            flags: "-r|--repository=repo --skip-existing --non-interactive",
            operands: "file+",
            never: "",
            says: "publish {file}[ to {repo}]",
        }],
    },
];
