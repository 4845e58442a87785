//! Builds one disk image that a power cut at the present place could leave.

use super::disk::{Change, Disk, Image, apply, rename};
use crate::node::rng::Rng;

/// The unit a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;

/// The fate of the unsafe changes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// None of them got through.
    Lost,
    /// All of them did.
    Kept,
    /// The first few did.
    Prefix,
    /// Each did or did not.
    Mixed,
    /// Each sector did or did not.
    Torn,
    /// Each sector did, did not, or holds noise.
    Noise,
}

impl Fate {
    /// The harsher ones more often.
    pub(super) fn choose(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..20 => Self::Lost,
            20..26 => Self::Kept,
            26..42 => Self::Prefix,
            42..65 => Self::Mixed,
            65..85 => Self::Torn,
            _ => Self::Noise,
        }
    }
}

/// One legal image, chosen by the generator.
pub(super) fn build(disk: &Disk, rng: &mut Rng) -> Image {
    let mut names = disk.names.clone();
    // A journal keeps name changes in order; without one any of them may be missing.
    let in_order = rng.percent(50);
    let first = rng.index(disk.loose_names.len() + 1);
    for (place, (_, naming)) in disk.loose_names.iter().enumerate() {
        let kept = if in_order { place < first } else { rng.percent(50) };
        if kept {
            rename(&mut names, naming);
        }
    }
    let common = Fate::choose(rng);
    let mut image = Image::new();
    for (name, inode) in names {
        let safe = disk.safe.get(&inode).cloned().unwrap_or_default();
        let fate = if rng.percent(70) { common } else { Fate::choose(rng) };
        let changes: Vec<&Change> =
            disk.loose.get(&inode).into_iter().flatten().map(|(_, change)| change).collect();
        image.insert(name, contents(safe, &changes, fate, rng));
    }
    image
}

/// The bytes of one file after the cut.
pub(super) fn contents(safe: Vec<u8>, changes: &[&Change], fate: Fate, rng: &mut Rng) -> Vec<u8> {
    if changes.is_empty() || fate == Fate::Lost {
        return safe;
    }
    // `seen` is what the running program would read; sectors reach `left`, the disk, as they were at some moment.
    let mut seen = safe.clone();
    let mut left = safe;
    let first = rng.index(changes.len() + 1);
    for (place, change) in changes.iter().enumerate() {
        apply(&mut seen, change);
        let whole = match fate {
            Fate::Lost => Some(false),
            Fate::Kept => Some(true),
            Fate::Prefix => Some(place < first),
            Fate::Mixed => Some(rng.percent(50)),
            Fate::Torn | Fate::Noise => None,
        };
        match change {
            Change::Resize(length) => {
                if whole.unwrap_or_else(|| rng.percent(50)) {
                    left.resize(usize::try_from(*length).unwrap_or(usize::MAX), 0);
                }
            }
            Change::Write(offset, data) => {
                let from = usize::try_from(*offset).unwrap_or(usize::MAX);
                let to = from + data.len();
                let mut sector = from - from % SECTOR;
                while sector < to {
                    let noise = fate == Fate::Noise && rng.percent(25);
                    if noise {
                        let range = from.max(sector)..to.min(sector + SECTOR);
                        let bytes = range.clone().map(|_| rng.next().to_le_bytes()[0]).collect::<Vec<u8>>();
                        apply(&mut left, &Change::Write(range.start as u64, bytes.into()));
                    } else if whole.unwrap_or_else(|| rng.percent(60)) {
                        let range = sector..(sector + SECTOR).min(seen.len());
                        let bytes = seen.get(range).unwrap_or_default().to_vec();
                        apply(&mut left, &Change::Write(sector as u64, bytes.into()));
                    }
                    sector += SECTOR;
                }
            }
        }
    }
    // The length may be safe although the bytes are not.
    if left.len() < seen.len() && rng.percent(15) {
        left.resize(seen.len(), 0);
    }
    left
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::super::disk::{Disk, Event, Image, Recording, steps};
    use super::super::trace;
    use super::build;
    use crate::node::rng::Rng;

    /// Every image that many cuts after the last line produce.
    fn images(lines: &[&str]) -> BTreeSet<Image> {
        let numbered = |line: &&str| {
            if line.starts_with("2 ") { format!("{line}\n") } else { format!("1 {line}\n") }
        };
        let text: String = lines.iter().map(numbered).collect();
        let hex =
            |name: &str| name.bytes().fold(String::new(), |text, byte| text + &format!("\\x{byte:02x}"));
        let text = text
            .replace("/d/a", &hex("/d/a"))
            .replace("/d/b", &hex("/d/b"))
            .replace("</d>", &format!("<{}>", hex("/d")));
        let (calls, _) = trace::read(text.as_bytes(), 0).unwrap();
        let mut recording = Recording::new(Path::new("/d"));
        recording.add(0, &calls).unwrap();
        let mut disk = Disk::default();
        for step in steps(&recording.events) {
            disk.step(step, &recording.events);
        }
        let mut rng = Rng::new(1);
        (0..3000).map(|_| build(&disk, &mut rng)).collect()
    }

    fn image(files: &[(&str, &[u8])]) -> Image {
        files.iter().map(|(name, bytes)| (PathBuf::from(name), bytes.to_vec())).collect()
    }

    const OPEN: &str = "openat(AT_FDCWD<\\x2f>, \"/d/a\", O_RDWR|O_CREAT, 0644) = 3</d/a>";
    const SYNC: &str = "fsync(3</d/a>) = 0";
    const SYNC_FOLDER: &str = "fsync(4</d>) = 0";

    #[test]
    fn a_synced_write_in_a_synced_folder_is_in_every_image() {
        let found = images(&[OPEN, "pwrite64(3</d/a>, \"\\x41\\x42\", 2, 0) = 2", SYNC, SYNC_FOLDER]);
        assert_eq!(found, BTreeSet::from([image(&[("a", b"AB")])]));
    }

    #[test]
    fn a_file_whose_folder_was_not_synced_may_be_missing() {
        let found = images(&[OPEN, "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1", SYNC]);
        assert_eq!(found, BTreeSet::from([image(&[]), image(&[("a", b"A")])]));
    }

    #[test]
    fn an_unsynced_write_may_be_there_be_missing_be_zeroes_or_be_noise_but_never_harms_its_neighbours() {
        let found = images(&[
            OPEN,
            "pwrite64(3</d/a>, \"\\x41\\x42\\x43\", 3, 0) = 3",
            SYNC,
            SYNC_FOLDER,
            "pwrite64(3</d/a>, \"\\x78\", 1, 1) = 1",
        ]);
        assert!(found.contains(&image(&[("a", b"ABC")])));
        assert!(found.contains(&image(&[("a", b"AxC")])));
        assert!(found.len() > 10, "noise makes many images");
        assert!(found.iter().all(|image| {
            let bytes = &image[Path::new("a")];
            bytes.len() == 3 && bytes[0] == b'A' && bytes[2] == b'C'
        }));
    }

    #[test]
    fn sectors_of_one_write_come_and_go_one_by_one() {
        let line = format!("pwrite64(3</d/a>, \"{}\", 1024, 0) = 1024", "\\x41".repeat(1024));
        let found = images(&[OPEN, SYNC_FOLDER, &line]);
        let mut second_only = vec![0; 512];
        second_only.extend(vec![b'A'; 512]);
        assert!(found.contains(&image(&[("a", &second_only)])), "the first sector lost, the second kept");
        assert!(found.contains(&image(&[("a", &[b'A'; 512])])), "the second sector lost with its length");
        assert!(found.contains(&image(&[("a", b"")])));
        assert!(found.contains(&image(&[("a", &[0; 1024])])), "the length kept, the bytes not");
    }

    #[test]
    fn a_later_write_without_an_earlier_one_is_possible_across_sectors_and_not_within_one() {
        let found = images(&[
            OPEN,
            SYNC_FOLDER,
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            "pwrite64(3</d/a>, \"\\x42\", 1, 1) = 1",
            "pwrite64(3</d/a>, \"\\x43\", 1, 600) = 1",
        ]);
        let far = |near: &[u8]| {
            let mut bytes = near.to_vec();
            bytes.resize(600, 0);
            bytes.push(b'C');
            image(&[("a", &bytes)])
        };
        assert!(found.contains(&far(b"")), "the third write alone");
        assert!(found.contains(&far(b"AB")));
        assert!(
            !found.contains(&image(&[("a", b"\0B")])),
            "a sector holds what the cache held: A was there when B came"
        );
    }

    #[test]
    fn a_sync_that_began_before_the_write_returned_does_not_save_it() {
        let found = images(&[
            OPEN,
            SYNC_FOLDER,
            "2 fsync(3</d/a> <unfinished ...>",
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            "2 <... fsync resumed>) = 0",
        ]);
        assert!(found.contains(&image(&[("a", b"")])) && found.contains(&image(&[("a", b"A")])));
        let found = images(&[
            OPEN,
            SYNC_FOLDER,
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            "2 fsync(3</d/a> <unfinished ...>",
            "2 <... fsync resumed>) = 0",
        ]);
        assert_eq!(found, BTreeSet::from([image(&[("a", b"A")])]), "and one that began after it does");
    }

    #[test]
    fn a_removal_without_a_folder_sync_may_bring_the_file_back_whole() {
        let found = images(&[
            OPEN,
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            SYNC,
            SYNC_FOLDER,
            "unlink(\"/d/a\") = 0",
        ]);
        assert_eq!(found, BTreeSet::from([image(&[]), image(&[("a", b"A")])]));
        let found = images(&[
            OPEN,
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            SYNC,
            "unlink(\"/d/a\") = 0",
            SYNC_FOLDER,
        ]);
        assert_eq!(found, BTreeSet::from([image(&[])]));
    }

    #[test]
    fn a_rename_over_a_file_leaves_the_old_or_the_new_one() {
        let found = images(&[
            OPEN,
            "pwrite64(3</d/a>, \"\\x41\", 1, 0) = 1",
            SYNC,
            "openat(AT_FDCWD<\\x2f>, \"/d/b\", O_RDWR|O_CREAT, 0644) = 5</d/b>",
            "write(5</d/b>, \"\\x42\", 1) = 1",
            "fsync(5</d/b>) = 0",
            SYNC_FOLDER,
            "rename(\"/d/b\", \"/d/a\") = 0",
        ]);
        assert_eq!(found, BTreeSet::from([image(&[("a", b"A"), ("b", b"B")]), image(&[("a", b"B")])]));
    }

    #[test]
    fn a_truncation_is_as_loose_as_a_write() {
        let found = images(&[
            OPEN,
            "pwrite64(3</d/a>, \"\\x41\\x42\", 2, 0) = 2",
            SYNC,
            SYNC_FOLDER,
            "ftruncate(3</d/a>, 0) = 0",
        ]);
        assert!(found.contains(&image(&[("a", b"AB")])) && found.contains(&image(&[("a", b"")])));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn what_goes_to_a_socket_is_an_answer_and_shared_memory_is_nothing() {
        let text = "1 openat(AT_FDCWD<\\x2f>, \"/d/a-shm\", O_RDWR|O_CREAT, 0644) = 3</d/a-shm>\n1 pwrite64(3</d/a-shm>, \"\\x41\", 1, 0) = 1\n1 sendto(9<socket:[5]>, \"\\x41\", 1, 0, NULL, 0) = 1\n";
        let (calls, _) = trace::read(text.as_bytes(), 0).unwrap();
        let mut recording = Recording::new(Path::new("/d"));
        recording.add(0, &calls).unwrap();
        assert_eq!(recording.events.len(), 1);
        assert!(matches!(&recording.events[0].event, Event::Send(_, bytes) if **bytes == *b"A"));
    }
}
