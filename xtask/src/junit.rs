//! Reads the JUnit files of nextest, pytest, vitest and node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

/// One test of one runner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) outcome: TestOutcome,
    pub(crate) time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    Passed,
    Failed,
    Skipped,
}

/// Every test in the `.xml` files of a folder; none if there is no folder.
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<TestCase>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xml"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        cases.extend(read(&text));
    }
    Ok(cases)
}

/// Every `<testcase>` of a JUnit document. The runners agree on this element and on little else.
fn read(text: &str) -> Vec<TestCase> {
    text.split("<testcase ").skip(1).filter_map(case).collect()
}

/// One element, without its first word. `rest` may continue after its end.
fn case(rest: &str) -> Option<TestCase> {
    let tag = &rest[..tag_end(rest)?];
    let inside = if tag.ends_with('/') {
        ""
    } else {
        let body = &rest[tag.len()..];
        body.split("</testcase>").next().unwrap_or(body)
    };
    let has = |element: &str| inside.contains(&format!("<{element}"));
    let outcome = if has("failure") || has("error") {
        TestOutcome::Failed
    } else if has("skipped") {
        TestOutcome::Skipped
    } else {
        TestOutcome::Passed
    };
    let name = attribute(tag, "name")?;
    let class = attribute(tag, "classname").filter(|class| !class.is_empty() && class != "test");
    let seconds: f64 = attribute(tag, "time").and_then(|time| time.parse().ok()).unwrap_or(0.0);
    Some(TestCase {
        name: class.map_or(name.clone(), |class| format!("{class} {name}")),
        outcome,
        time: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
    })
}

/// Where the first tag ends: at the first `>` outside quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, char)| {
        quoted ^= char == '"';
        (char == '>' && !quoted).then_some(at)
    })
}

/// The value of ` name="…"`, with the five predefined entities read.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = format!(" {tag}");
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = value.split_once('"')?;
    let plain = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Some(plain.replace("&apos;", "'").replace("&#39;", "'").replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, outcome: TestOutcome, milliseconds: u64) -> TestCase {
        TestCase { name: name.to_owned(), outcome, time: Duration::from_millis(milliseconds) }
    }

    #[test]
    fn what_the_four_runners_write_is_read() {
        let nextest = r#"<testsuite name="placet-core"><testcase name="life::one" classname="placet-core::life" timestamp="2026" time="0.250"></testcase>
            <testcase name="two" classname="placet-core" time="1.5"><failure type="test failure">a &lt; b</failure></testcase></testsuite>"#;
        let pytest = r#"<testcase classname="tests.core.test_gate" name="test_a[x&gt;1]" time="0.010" /><testcase classname="t" name="b" time="0"><skipped type="pytest.skip" message="no"/></testcase>"#;
        let node = r#"<testcase name="a &quot;quoted&quot; > name" time="2.000" classname="test"/>"#;
        let vitest = r#"<testcase classname="tests/core/a.test.ts" name="group &gt; one" time="0.004">
        </testcase>"#;
        assert_eq!(
            read(nextest),
            [
                test("placet-core::life life::one", TestOutcome::Passed, 250),
                test("placet-core two", TestOutcome::Failed, 1_500)
            ]
        );
        assert_eq!(
            read(pytest),
            [
                test("tests.core.test_gate test_a[x>1]", TestOutcome::Passed, 10),
                test("t b", TestOutcome::Skipped, 0)
            ]
        );
        assert_eq!(read(node), [test("a \"quoted\" > name", TestOutcome::Passed, 2_000)]);
        assert_eq!(read(vitest), [test("tests/core/a.test.ts group > one", TestOutcome::Passed, 4)]);
    }

    #[test]
    fn an_error_outside_an_assertion_is_a_failure_too() {
        let text = r#"<testcase name="a" time="1"><error message="fixture">no</error></testcase>"#;
        assert_eq!(read(text), [test("a", TestOutcome::Failed, 1_000)]);
    }
}
