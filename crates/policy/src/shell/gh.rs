//! Words of `gh`, the command line of GitHub: which of them lead to another host, or to more than the answer.

use super::jq;

/// The word by which a listed command of `gh` would reach further than the repositories of its own host.
///
/// A repository may be written with a host before it, and an address may stand where a number does. `gh` then sends that host a
/// token. Filters are those of `jq`, and can read the environment.
pub(super) fn reaches_further(words: &[String]) -> Option<&str> {
    let api = words.first().is_some_and(|word| word == "api");
    let mut before = "";
    words.iter().map(String::as_str).skip(usize::from(api)).find(|word| {
        let filter = matches!(before, "-q" | "--jq") || word.starts_with("--jq=");
        before = word;
        if filter {
            return !jq::is_plain(word);
        }
        let address = word.contains("://") || word.starts_with("//") || word.contains('@');
        let value = word.split_once('=').map_or(*word, |(_, value)| value);
        // Two slashes are a repository on a host, or may be one.
        let host = !api && value.matches('/').count() > 1;
        address || host || (api && !word.starts_with('-') && !is_of_repositories(word))
    })
}

/// Whether an address of the interface is about repositories, or says who is signed in.
fn is_of_repositories(endpoint: &str) -> bool {
    let path = endpoint.strip_prefix('/').unwrap_or(endpoint);
    path == "user" || (path.starts_with("repos/") && !path.split(['/', '?']).any(|part| part == ".."))
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
        ] {
            assert!(further(line).is_some(), "{line:?}");
        }
    }
}
