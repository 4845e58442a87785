//! Configuration and index are read as git reads them.

use proptest::prelude::*;

use super::{
    super::{
        config::{Setting, parse},
        index::gitlinks,
    },
    *,
};

/// What git reads from a file; none if it refuses it.
fn git_reads(world: &World, content: &[u8]) -> Option<Vec<Setting>> {
    let file = world.root.join("config");
    fs::write(&file, content).unwrap();
    let output = world.run(&world.root, &format!("config -f {} --list -z", file.display()));
    if !output.status.success() {
        return None;
    }
    let entries = output.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let setting = |entry: &[u8]| match entry.iter().position(|byte| *byte == b'\n') {
        Some(end) => Setting { key: entry[..end].to_vec(), value: Some(entry[end + 1..].to_vec()) },
        None => Setting { key: entry.to_vec(), value: None },
    };
    Some(entries.map(setting).collect())
}

/// Pieces of configuration files, good and bad.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "[core]",
        "[Core] ",
        "[a \"b\"]\n",
        "[a \"B\\\"c\\\\d.e\"]",
        "[A.b]\n",
        "[a.B \"c\"]",
        "[a\t\"x y\"]",
        "[",
        "]",
        "[]",
        "key",
        "Key-2",
        "x",
        "9",
        "-",
        "=",
        " = ",
        "value",
        "\"",
        "\"quo ted\"",
        "\"#;\"",
        "\\\"",
        "\\\\",
        "\\n",
        "\\t",
        "\\b",
        "\\q",
        "\\",
        "\n",
        "\n",
        "\n",
        "\\\n",
        "\r\n",
        "\\\r\n",
        "\r",
        "\t",
        " ",
        "  ",
        "#",
        "; comment",
        ".",
        "é",
        "\u{feff}",
        "\nk = v\n",
        "\nk = \"v\"  w ; c\n",
        "\nflag\n",
        "\nk = a\\\nb\n",
        "\nk = x \\\" y # c\n",
        "\n[t]\nv = w\n",
        "\n; c\n",
        "\u{b}",
        "\u{c}",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

#[test]
fn configuration_is_read_as_git_reads_it() {
    let world = World::empty();
    let read = std::cell::Cell::new(0);
    // Half of the files begin well, so that not all of them are refused.
    let files = (any::<bool>(), pieces()).prop_map(|(good, rest)| {
        let mut file = if good { b"[s \"u b\"]\nk = ".to_vec() } else { Vec::new() };
        file.extend(rest);
        file
    });
    let config = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&files, |content| {
        let git = git_reads(&world, &content);
        read.set(read.get() + u32::from(git.as_ref().is_some_and(|settings| !settings.is_empty())));
        prop_assert_eq!(parse(&content).ok(), git, "{}", String::from_utf8_lossy(&content));
        Ok(())
    });
    result.unwrap();
    assert!(read.get() > 100, "only {} of the files were good ones", read.get());
}

#[test]
fn gitlinks_are_found_in_each_format_of_the_index() {
    let world = World::empty();
    let repo = world.repo();
    world.git(&repo, "init -q -b main .");
    let zeros = "1".repeat(40);
    let long = "d/".repeat(2100) + "end";
    let names = ["a", "a-much-longer-name/with/folders", "a-much-longer-name/with/more", "z", &long];
    for (n, name) in names.iter().enumerate() {
        let mode = if n % 2 == 0 { "160000" } else { "100644" };
        world.git(&repo, &format!("update-index --add --cacheinfo {mode},{zeros},{name}"));
    }
    world.git(&repo, "update-index --skip-worktree a-much-longer-name/with/folders");
    for version in ["2", "3", "4"] {
        world.git(&repo, &format!("update-index --index-version {version}"));
        let bytes = fs::read(repo.join(".git/index")).unwrap();
        let mut expected: Vec<&[u8]> = [names[0], names[2], names[4]].map(str::as_bytes).to_vec();
        expected.sort_unstable();
        assert_eq!(
            gitlinks(&bytes, 20),
            Ok(expected.iter().map(|name| name.to_vec()).collect()),
            "{version}"
        );
        for end in 0..bytes.len() {
            let _ = gitlinks(&bytes[..end], 20);
        }
    }
}

/// An index with blocks, as git writes it for many files on a machine with several processors.
fn with_blocks(version: &str) -> Vec<u8> {
    let world = World::empty();
    let repo = world.repo();
    world.git(&repo, "init -q -b main .");
    world.git(&repo, "config index.threads 4");
    let lines: Vec<String> = (0..25_000).map(|n| format!("100644 {} 0\tf{n:05}\n", "1".repeat(40))).collect();
    fs::write(world.root.join("lines"), lines.concat()).unwrap();
    let mut command = Command::new("git");
    command.current_dir(&repo).args(["update-index", "--index-info"]);
    command.env("HOME", world.root.join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    command.stdin(fs::File::open(world.root.join("lines")).unwrap());
    assert!(command.status().unwrap().success());
    world.git(&repo, &format!("update-index --index-version {version}"));
    world.git(&repo, "update-index --force-write-index");
    fs::read(repo.join(".git/index")).unwrap()
}

#[test]
fn a_table_of_blocks_that_disagrees_with_the_entries_is_refused() {
    for version in ["2", "4"] {
        let bytes = with_blocks(version);
        assert_eq!(gitlinks(&bytes, 20), Ok(vec![]));
        let table = bytes.windows(4).rposition(|four| four == b"IEOT").expect("a table of blocks");
        let end = bytes.windows(4).rposition(|four| four == b"EOIE").expect("the end of the entries");
        let length = u32::from_be_bytes(bytes[table + 4..table + 8].try_into().unwrap()) as usize;
        // The offset and the number of the first block, the offset of the second, the number of the last, the end of all.
        for at in [table + 15, table + 19, table + 23, table + 8 + length - 1, end + 11] {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(gitlinks(&bad, 20).is_err(), "version {version}, byte {at}");
        }
        // An end that leaves out the table.
        let mut bad = bytes.clone();
        bad[end + 8..end + 12].copy_from_slice(&u32::try_from(end).unwrap().to_be_bytes());
        assert!(gitlinks(&bad, 20).is_err(), "version {version}");
    }
}
