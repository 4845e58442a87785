//! seccomp, the second lock on the kernel: calls that no build or test needs and that sandboxes were left by.

use std::collections::BTreeMap;

use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS,
    CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, EPERM, NETLINK_ROUTE, TIOCCONS, TIOCLINUX, TIOCSETD, TIOCSTI,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use crate::words::{Doing as _, Problem};

/// Refused whatever the arguments are.
const REFUSED: &[libc::c_long] = &[
    // other processes' memory and descriptors
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // mounts and namespaces
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_unshare,
    libc::SYS_setns,
    // files by number instead of by path
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // parts of the kernel with a history of holes
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // the machine
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];
/// Newer than the list of numbers we build with; the same on every architecture.
const OPEN_TREE_ATTR: libc::c_long = 467;

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[libc::c_long] = &[libc::SYS_kexec_file_load];

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// Flags of `clone` that make a namespace.
const NAMESPACES: [i32; 7] =
    [CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET];
/// Writing into a terminal's input, its other functions, and its line disciplines.
const IOCTLS: [libc::c_ulong; 4] = [TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD];

fn is(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Problem> {
    // The kernel reads these arguments as 32 bits: so does the filter, or a high bit would pass it.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).doing("seccomp has no such condition")
}

fn when(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, Problem> {
    SeccompRule::new(conditions).doing("seccomp has no such rule")
}

#[expect(clippy::cast_sign_loss, reason = "constants of the kernel, all positive")]
fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Problem> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_HERE).map(|number| (*number, Vec::new())).collect();
    let mut clone = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag as u32);
        clone.push(when(vec![is(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    rules.insert(libc::SYS_clone, clone);
    let other = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK]
        .into_iter()
        .map(|family| is(0, SeccompCmpOp::Ne, family as u64))
        .collect::<Result<_, _>>()?;
    let netlink =
        vec![is(0, SeccompCmpOp::Eq, AF_NETLINK as u64)?, is(2, SeccompCmpOp::Ne, NETLINK_ROUTE as u64)?];
    rules.insert(libc::SYS_socket, vec![when(other)?, when(netlink)?]);
    let ioctls = IOCTLS.into_iter().map(|number| when(vec![is(1, SeccompCmpOp::Eq, number)?]));
    rules.insert(libc::SYS_ioctl, ioctls.collect::<Result<_, _>>()?);
    // 0 and 8 are Linux with 64 and 32 bits; the last one asks.
    let personalities = [0, 8, 0xffff_ffff].into_iter().map(|kind| is(0, SeccompCmpOp::Ne, kind));
    rules.insert(libc::SYS_personality, vec![when(personalities.collect::<Result<_, _>>()?)?]);
    Ok(rules)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram, Problem> {
    let failed = "the seccomp filter cannot be made";
    let refuse = SeccompAction::Errno(u32::try_from(error).doing(failed)?);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, ARCH).doing(failed)?;
    filter.try_into().doing(failed)
}

/// Calls with the numbers of x32 reach the same functions under other numbers: all of them are refused.
fn with_x32(program: BpfProgram) -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    /// `SECCOMP_RET_ERRNO` with `ENOSYS`.
    const ABSENT: u32 = 0x0005_0026;
    if !cfg!(target_arch = "x86_64") {
        return program;
    }
    let mut whole = vec![
        sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GREATER_OR_EQUAL, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ABSENT },
    ];
    whole.extend(program);
    whole
}

/// Locks this process and all that it will start.
pub(crate) fn lock() -> Result<(), Problem> {
    // The flags of `clone3` lie in memory, where a filter cannot read them. Programs fall back to `clone`.
    let absent = compile(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    let refused = with_x32(compile(rules()?, EPERM)?);
    apply_filter(&absent).doing("seccomp cannot be had")?;
    apply_filter(&refused).doing("seccomp cannot be had")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_and_stays_short() {
        let program = with_x32(compile(rules().unwrap(), EPERM).unwrap());
        assert!(program.len() > 100 && program.len() < 1000, "{}", program.len());
    }
}
