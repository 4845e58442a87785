//! Watches what the whole run uses. It works without cgroups, which most users cannot make.

use std::fs;

use crate::profile::Limits;

/// A sentence if the run is over a limit.
pub(crate) fn over(limits: &Limits) -> Option<String> {
    let (mut processes, mut pages) = (0_u64, 0_u64);
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        let Ok(sizes) = fs::read_to_string(format!("/proc/{id}/statm")) else { continue };
        let mut sizes = sizes.split(' ').skip(1).map(|size| size.parse::<u64>().unwrap_or(0));
        let (resident, shared) = (sizes.next().unwrap_or(0), sizes.next().unwrap_or(0));
        processes += 1;
        pages = pages.saturating_add(resident.saturating_sub(shared));
    }
    let memory = pages.saturating_mul(u64::try_from(rustix::param::page_size()).unwrap_or(4096));
    if memory > limits.memory {
        return Some(format!("it used more than {} MiB of memory", limits.memory >> 20));
    }
    // This process counts itself.
    (processes > limits.processes.saturating_add(1))
        .then(|| format!("it had more than {} processes", limits.processes))
}

/// Whether something inside tried to reach another machine, by the counters of the network namespace.
pub(crate) fn wanted_network() -> bool {
    let Ok(table) = fs::read_to_string("/proc/self/net/snmp") else { return false };
    let six = fs::read_to_string("/proc/self/net/snmp6").unwrap_or_default();
    counter(&table, "Ip:", "OutNoRoutes") > 0
        // A name server on the loopback of the machine is not there inside.
        || counter(&table, "Udp:", "NoPorts") > 0
        || six.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("Ip6OutNoRoutes") && words.next().is_some_and(|count| count != "0")
        })
}

fn counter(table: &str, group: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter(|line| line.starts_with(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let table = "Ip: A OutNoRoutes\nIp: 1 7\nUdp: NoPorts B\nUdp: 3 4\n";
        assert_eq!(counter(table, "Ip:", "OutNoRoutes"), 7);
        assert_eq!(counter(table, "Udp:", "NoPorts"), 3);
        assert_eq!(counter(table, "Tcp:", "X"), 0);
    }
}
