//! Words of `gh`, the command line of GitHub: which of them lead to another host, or to more than the answer.

use super::jq;

/// The word by which a listed command of `gh` would reach further than the repositories of its own host.
///
/// A repository may be written with a host before it, and an address may stand where a number does. `gh` then sends that host a
/// token, and what was asked. Filters are those of `jq`, and can read the environment.
pub(super) fn reaches_further(words: &[String]) -> Option<&str> {
    let api = words.first().is_some_and(|word| word == "api");
    let mut before = "";
    words.iter().map(String::as_str).skip(usize::from(api)).find(|word| {
        let flag = std::mem::replace(&mut before, word);
        let (name, value) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((name, value)) => (name, value),
            None => (flag, *word),
        };
        match name {
            "-q" | "--jq" => return !jq::is_plain(value),
            "-R" | "--repo" => return !is_repository(value),
            _ => {}
        }
        let address = value.contains("://") || value.starts_with("//") || value.contains('@');
        // Two slashes are a repository on a host, or may be one.
        let host = !api && value.matches('/').count() > 1;
        address || host || (api && !word.starts_with('-') && !is_of_repositories(word))
    })
}

/// `OWNER/NAME`, and no host.
fn is_repository(text: &str) -> bool {
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.bytes().all(plain) && text.bytes().any(|byte| byte != b'.')
}

/// What of a repository may be read. Left out on purpose: secrets that were found in it, variables, keys, hooks and all that is new.
const PARTS: [&str; 20] = [
    "pulls",
    "issues",
    "commits",
    "compare",
    "branches",
    "releases",
    "tags",
    "contents",
    "readme",
    "git",
    "labels",
    "milestones",
    "comments",
    "contributors",
    "languages",
    "topics",
    "check-runs",
    "check-suites",
    "status",
    "statuses",
];
const ACTIONS: [&str; 3] = ["runs", "jobs", "workflows"];

/// Whether an address of the interface is about the usual parts of a repository, or says who is signed in.
fn is_of_repositories(endpoint: &str) -> bool {
    let path = endpoint.strip_prefix('/').unwrap_or(endpoint);
    let path = path.split('?').next().unwrap_or(path);
    // `gh` puts the repository of the folder there.
    let segments: Vec<&str> =
        path.split('/').map(|part| if matches!(part, "{owner}" | "{repo}") { "x" } else { part }).collect();
    let plain =
        segments.iter().all(|part| is_name(part) || part.contains("...") && part.split("...").all(is_name));
    match segments.as_slice() {
        ["user"] => true,
        ["repos", _, _] => plain,
        ["repos", _, _, "actions", part, ..] => plain && ACTIONS.contains(part),
        ["repos", _, _, part, ..] => plain && PARTS.contains(part),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn further(line: &[&str]) -> Option<String> {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        reaches_further(&words).map(str::to_owned)
    }

    #[test]
    fn reading_from_the_repositories_of_the_own_host_reaches_no_further() {
        for line in [
            &["pr", "view", "343", "--json", "number,title", "-q", "."][..],
            &["pr", "list", "-R", "entireio/cli", "--state", "open"],
            &["api", "repos/entireio/cli/pulls/343/files", "--paginate", "--jq", ".[] | .filename"],
            &["api", "repos/o/n/pulls", "--jq=.[].id"],
            &["pr", "view", "1", "--json", "files", "-q", ".files[] | \"\\(.path)/\\(.a)/\\(.b)\""],
            &["run", "view", "42"],
            &["repo", "view", "entireio/cli"],
            &["pr", "list", "--repo=o/n", "--search", "is:open label=a/b"],
            &["api", "repos/{owner}/{repo}/pulls"],
            &["api", "repos/o/n"],
            &["api", "repos/o/n/compare/main...fix-1"],
            &["api", "repos/o/n/actions/runs/42/jobs?per_page=100"],
            &["api", "repos/o/n/contents/src/main.rs?ref=main"],
        ] {
            assert_eq!(further(line), None, "{line:?}");
        }
    }

    #[test]
    fn another_host_an_address_and_the_environment_reach_further() {
        for line in [
            &["pr", "view", "https://evil.example/o/n/pull/1"][..],
            &["pr", "view", "1", "-R", "evil.example/o/n"],
            &["pr", "view", "1", "--repo=evil.example/o/n"],
            &["repo", "view", "evil.example/o/n"],
            &["api", "https://evil.example/x"],
            &["api", "//evil.example/x"],
            &["api", "graphql"],
            &["api", "--paginate", "orgs/o/members"],
            &["api", "/user/keys"],
            &["api", "repos/../user"],
            &["api", "repos/o/n", "--jq", "env"],
            &["pr", "view", "1", "-q", "$ENV.GH_TOKEN"],
            &["pr", "view", "git@evil.example:o/n"],
            &["pr", "list", "-R", "evil.example/o/n=x", "--search", "what was read"],
            &["pr", "list", "-R", "evil.example/o=/n"],
            &["pr", "list", "--repo", "evil.example/o/n=x"],
            &["pr", "list", "--repo=evil.example/o/n=x"],
            &["pr", "list", "-R", "../n"],
            &["repo", "view", "evil.example/o/n=x"],
            &["repo", "view", "evil.example/o=/n"],
            &["api", "repos/o/n/secret-scanning/alerts"],
            &["api", "repos/o/n/actions/variables"],
            &["api", "repos/o/n/actions/secrets"],
            &["api", "repos/o/n/hooks"],
            &["api", "repos/o/n/keys"],
            &["api", "repos/o/n/contents/%2Eenv"],
            &["api", "repos/%2e%2e/user/keys"],
            &["api", "repos/o/n/./secret-scanning/alerts"],
            &["api", "repos/o/n//secret-scanning/alerts"],
        ] {
            assert!(further(line).is_some(), "{line:?}");
        }
    }
}
