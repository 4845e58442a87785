"""Other processes, rights, namespaces, mounts, parts of the kernel, and staying behind."""

import ctypes, errno, os, pty, resource, signal, stat, struct, subprocess, time

from common import LIBC, TABLE, X86, call, put, read, with_fd

# --- other processes ------------------------------------------------------------------------------------------------

def touching(name, function, needs=""):
    TABLE.append((f"process-{name}", "did", needs, function))


touching("signal", lambda b: os.kill(b["victim"], 0) is None)
touching("stop", lambda b: (os.kill(b["victim"], signal.SIGSTOP), os.kill(b["victim"], signal.SIGCONT)) and True)
touching("pidfd", lambda b: call("pidfd_open", b["victim"], 0) >= 0)
touching("ptrace-seize", lambda b: call("ptrace", 0x4206, b["victim"], 0, 0) == 0)
touching("ptrace-own-child", lambda b: traced_child())
touching("vm-read", lambda b: vm("process_vm_readv", own_child()))
touching("vm-write", lambda b: vm("process_vm_writev", own_child()))
touching("priority", lambda b: os.setpriority(os.PRIO_PROCESS, b["victim"], 5) is None)
touching("limits", lambda b: resource.prlimit(b["victim"], resource.RLIMIT_CORE) is not None)
touching("affinity", lambda b: os.sched_setaffinity(b["victim"], os.sched_getaffinity(0)) is None)
touching("group", lambda b: os.getpgid(b["victim"]) > 0)
touching("kcmp", lambda b: compared(own_child()))
touching("memory-file", lambda b: with_fd(f"/proc/{b['victim']}/mem", os.O_RDWR, lambda fd: True))
touching("oom-score", lambda b: put(f"/proc/{b['victim']}/oom_score_adj", "500") is None)
touching("list", lambda b: str(b["victim"]) in os.listdir("/proc") and "sleep" in read(f"/proc/{b['victim']}/comm"))
touching("shared-memory", lambda b: call("shmget", b["ipc"], 0, 0) >= 0)
touching("message-queue", lambda b: call("msgget", b["ipc"], 0) >= 0)
touching("semaphore", lambda b: call("semget", b["ipc"], 0, 0) >= 0)


def own_child():
    child = os.fork()
    if child == 0:
        time.sleep(2)
        os._exit(0)
    return child


def traced_child():
    child = own_child()
    try:
        return call("ptrace", 0x4206, child, 0, 0) == 0
    finally:
        os.kill(child, signal.SIGKILL)


def compared(child):
    try:
        return call("kcmp", os.getpid(), child, 0, 0, 0) >= 0
    finally:
        os.kill(child, signal.SIGKILL)


def vm(name, child):
    buffer = ctypes.create_string_buffer(b"x" * 8)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 8)
    try:
        return call(name, child, ctypes.c_char_p(vector), 1, ctypes.c_char_p(vector), 1, 0) == 8
    finally:
        os.kill(child, signal.SIGKILL)


# --- rights, namespaces, mounts, and parts of the kernel ------------------------------------------------------------

def doing(name, function, needs=""):
    TABLE.append((name, "did", needs, function))


def in_child(function):
    """In a process of its own: a namespace must not stay with the next attempt."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() is not False else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


NAMESPACES = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000}
for label, flag in NAMESPACES.items():
    doing(f"unshare-{label}", lambda b, f=flag: in_child(lambda: call("unshare", f)), "" if label == "user" else "root")
doing("unshare-user-and-mount", lambda b: in_child(lambda: call("unshare", 0x10020000)))
doing("clone-user", lambda b: cloned(0x10000000))
doing("clone-user-high-bits", lambda b: cloned(0x10000000 | (1 << 40)) if X86 else cloned(0x10000000))
doing("clone3-user", lambda b: cloned3(0x10000000))
doing("setns-parent", lambda b: in_child(lambda: call("setns", os.open(f"/proc/{b['victim']}/ns/net", os.O_RDONLY), 0)), "root")
doing("nested-namespaces-program", lambda b: subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL).returncode == 0)
doing("mount-tmpfs", lambda b: in_own_mounts(lambda: call("mount", b"x", b"/mnt", b"tmpfs", 0, 0)), "root")
doing("mount-bind", lambda b: in_own_mounts(lambda: call("mount", b"/etc", b"/mnt", 0, 4096, 0)), "root")
doing("mount-proc", lambda b: in_own_mounts(lambda: call("mount", b"proc", b"/mnt", b"proc", 0, 0)), "root")
doing("remount-writable", lambda b: in_own_mounts(lambda: (call("mount", b"/usr", b"/mnt", 0, 4096, 0), call("mount", 0, b"/mnt", 0, 4096 | 32, 0))), "root")
doing("unmount-cover", lambda b: in_own_mounts(lambda: (call("mount", b"x", b"/mnt", b"tmpfs", 0, 0), call("umount2", b"/mnt", 2))), "root")
doing("open-tree", lambda b: call("open_tree", -100, b"/", 1) >= 0, "root")
doing("fsopen", lambda b: call("fsopen", b"tmpfs", 0) >= 0, "root")
doing("chroot", lambda b: in_child(lambda: call("chroot", b"/")), "root")
doing("chroot-escape", lambda b: in_child(lambda: (call("chroot", b"."), os.chdir("../../../../.."), call("chroot", b"."))), "root")
doing("handle", lambda b: by_handle(), "")
doing("fanotify", lambda b: call("fanotify_init", 0x200, 0) >= 0)
doing("io-uring", lambda b: call("io_uring_setup", 4, ctypes.create_string_buffer(256)) >= 0)
doing("bpf", lambda b: call("bpf", 0, ctypes.c_char_p(struct.pack("IIII", 2, 4, 4, 1) + bytes(112)), 128) >= 0, "root")
doing("perf", lambda b: call("perf_event_open", ctypes.c_char_p(struct.pack("IIQ", 1, 128, 1) + bytes(112)), 0, -1, -1, 0) >= 0, "root")
doing("userfaultfd", lambda b: call("userfaultfd", 1) >= 0)
doing("add-key", lambda b: call("add_key", b"user", b"placet", b"x", 1, -2) >= 0)
doing("session-keyring", lambda b: call("keyctl", 0, -3, 0) >= 0)
doing("personality", lambda b: call("personality", 0x0040000) >= 0)
doing("old-numbers", lambda b: int80(), "never")
doing("x32-numbers", lambda b: call(0x40000000 | 39) == os.getpid(), "x32")
for label, family, kind, protocol in [("vsock", 40, 1, 0), ("packet", 17, 3, 0), ("alg", 38, 5, 0), ("netlink-generic", 16, 3, 16), ("netlink-audit", 16, 3, 9), ("raw-ip", 2, 3, 1), ("key", 15, 3, 2)]:
    doing(f"socket-{label}", lambda b, f=family, k=kind, p=protocol: LIBC.socket(f, k, p) >= 0, f"socket:{family}:{kind}:{protocol}")
doing("setuid-program", lambda b: setuid_program(b), "setuid")
doing("become-other", lambda b: in_child(lambda: os.setuid(1)), "root")
doing("own-other", lambda b: (put("o"), os.chown("o", 1, 1)) and True, "root")
doing("device-node", lambda b: os.mknod("dev", stat.S_IFCHR | 0o666, os.makedev(1, 3)) is None, "root")
doing("set-setuid-effective", lambda b: mounted_without(b, "nosuid"))
doing("no-new-privileges-off", lambda b: "NoNewPrivs:\t0" in read("/proc/self/status"))
doing("capabilities", lambda b: "CapEff:\t0000000000000000" not in read("/proc/self/status"), "root")
doing("capability-bounds", lambda b: "CapBnd:\t0000000000000000" not in read("/proc/self/status"))
doing("hostname", lambda b: LIBC.sethostname(os.uname().nodename.encode(), len(os.uname().nodename)) == 0, "root")
doing("sysctl", lambda b: put("/proc/sys/kernel/core_pattern", read("/proc/sys/kernel/core_pattern")) is None, "root")
doing("sysrq", lambda b: with_fd("/proc/sysrq-trigger", os.O_WRONLY, lambda fd: True), "exists:/proc/sysrq-trigger")
doing("cgroup-write", lambda b: with_fd("/sys/fs/cgroup/cgroup.procs" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/pids/cgroup.procs", os.O_WRONLY, lambda fd: True), "root")
doing("disk", lambda b: any(stat.S_ISBLK(os.stat("/dev/" + n).st_mode) for n in os.listdir("/dev")), "disk")
doing("core-limit", lambda b: resource.getrlimit(resource.RLIMIT_CORE)[1] != 0, "core")
doing("unlimited-memory", lambda b: resource.getrlimit(resource.RLIMIT_DATA)[1] == resource.RLIM_INFINITY, "data")
doing("tioclinux", lambda b: ioctl_errno(0x541C) not in (errno.EPERM,))
doing("tiocsti-call", lambda b: ioctl_errno(0x5412) not in (errno.EPERM,), "never")
doing("line-discipline", lambda b: discipline())
doing("controlling-terminal", lambda b: with_fd("/dev/tty", os.O_RDWR, lambda fd: True), "tty")


def cloned(flags):
    result = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)
    return True


def cloned3(flags):
    arguments = struct.pack("QQQQQQQQ", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    result = call("clone3", ctypes.c_char_p(arguments), len(arguments))
    if result == 0:
        os._exit(0)
    os.waitpid(result, 0)
    return True


def in_own_mounts(function):
    """Free, this would change the machine: it happens in a mount namespace of its own where one can be had."""
    def inside():
        try:
            call("unshare", 0x20000)
            call("mount", b"none", b"/", 0, (1 << 18) | 16384, 0)
        except OSError:
            pass
        return function()
    return in_child(inside)


def by_handle():
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    return call("name_to_handle_at", -100, b"/etc/hostname", handle, ctypes.byref(mount), 0) == 0


def ioctl_errno(number):
    master, slave = pty.openpty()
    LIBC.ioctl(slave, ctypes.c_ulong(number), ctypes.c_char_p(b"\x00x"))
    return ctypes.get_errno()


def discipline():
    master, slave = pty.openpty()
    return LIBC.ioctl(slave, ctypes.c_ulong(0x5423), ctypes.byref(ctypes.c_int(0))) == 0


def setuid_program(b):
    program = b["setuid"]
    out = subprocess.run([program, "-c", "import os; print(os.geteuid())"], capture_output=True, text=True).stdout
    return out.strip() == "1"


def mounted_without(b, flag):
    """A place that can be written and where the setuid bit counts."""
    with open("/proc/self/mountinfo") as table:
        points = {line.split()[4]: line.split()[5].split(",") for line in table}
    here = os.path.abspath(".")
    while here not in points:
        here = os.path.dirname(here)
    return flag not in points[here] and "ro" not in points[here]


def int80():
    return False


# --- staying behind -------------------------------------------------------------------------------------------------

def staying(name, function):
    TABLE.append((f"stay-{name}", "stay", "", lambda b: function(f"stay-{name}")))


def beat(name):
    """Holds a pipe of the harness open for as long as it lives."""
    devnull = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(devnull, fd)
    os.closerange(3, 256)
    signal.alarm(0)
    fd = os.open(f"beats/{name}", os.O_WRONLY)
    os.write(fd, f"{os.getpid()}\n".encode())
    time.sleep(300)
    os._exit(0)


def plain(name):
    if os.fork() == 0:
        beat(name)


def session(name):
    if os.fork() == 0:
        os.setsid()
        beat(name)


def twice(name):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            beat(name)
        os._exit(0)


def deaf(name):
    if os.fork() == 0:
        for number in range(1, 64):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        os.setsid()
        beat(name)


def hopping(name):
    if os.fork() == 0:
        for _ in range(20):
            if os.fork():
                os._exit(0)
            os.setsid()
        beat(name)


def nohup(name):
    subprocess.Popen(["nohup", "setsid", "sh", "-c", f"exec 7>beats/{name}; echo $$ >&7; exec sleep 300"], close_fds=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


for label, function in [("plain", plain), ("session", session), ("twice", twice), ("deaf", deaf), ("hopping", hopping), ("nohup", nohup)]:
    staying(label, function)
