"""Attempts to get out. Each runs twice: confined, where it must have no effect, and free, where it must have one.

An attempt is a function of the bait. What it returns is evidence: text that may hold a secret, or True for something
done that must not be possible. Writes and connections are judged from outside, by the harness.
"""

import ctypes, errno, fcntl, json, mmap, os, pty, resource, shutil, signal, socket, stat, struct, subprocess, sys, tempfile, time

LIBC = ctypes.CDLL(None, use_errno=True)
MACHINE = os.uname().machine
X86 = MACHINE == "x86_64"
NUMBERS = {  # x86_64, aarch64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "io_uring_setup": (425, 425),
    "memfd_create": (319, 279), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432),
    "mount_setattr": (442, 442), "keyctl": (250, 219), "add_key": (248, 217), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "clone": (56, 220), "clone3": (435, 435), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "personality": (135, 92), "kcmp": (312, 272), "fanotify_init": (300, 262), "syslog": (103, 116), "chroot": (161, 51),
    "sethostname": (170, 161), "openat2": (437, 437), "request_key": (249, 218), "process_madvise": (440, 440),
    "acct": (163, 89), "quotactl": (179, 60), "swapoff": (168, 225), "clock_settime": (227, 112), "io_uring_register": (427, 427),
    "modify_ldt": (154, None), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "name_to_handle": (303, 264), "delete_module": (176, 106), "fspick": (433, 433), "landlock_create_ruleset": (444, 444),
}


def call(name, *arguments):
    """A raw system call; OSError if it fails."""
    number = NUMBERS[name][0 if X86 else 1] if isinstance(name, str) else name
    cooked = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if isinstance(a, bytes) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *cooked)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


TABLE = []  # (name, kind, needs, function)


def attempt(kind, needs="", name=None):
    def add(function):
        TABLE.append((name or function.__name__.strip("_"), kind, needs, function))
        return function
    return add


# --- writing: every way to change a file, in every place that must not change ---------------------------------------

def put(path, text="changed"):
    with open(path, "w") as file:
        file.write(text)


def with_fd(path, flags, use):
    fd = os.open(path, flags)
    try:
        return use(fd)
    finally:
        os.close(fd)


def through_map(path):
    def change(fd):
        with mmap.mmap(fd, 0) as view:
            view[0:1] = b"X"
    with_fd(path, os.O_RDWR, change)


def reopened(path):
    """A descriptor for reading, opened again for writing by way of /proc."""
    with_fd(path, os.O_RDONLY, lambda fd: put(f"/proc/self/fd/{fd}"))


def nameless(path):
    def link(fd):
        os.write(fd, b"x")
        call(265 if X86 else 37, -100, f"/proc/self/fd/{fd}".encode(), -100, (path + ".new").encode(), 0x400)
    with_fd(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR, link)


def copied(path):
    with tempfile.TemporaryFile() as source:
        source.write(b"changed")
        source.flush()
        with_fd(path, os.O_WRONLY, lambda fd: os.sendfile(fd, source.fileno(), 0, 7))


def by_link(path):
    os.symlink(path, "a-link")
    try:
        put("a-link")
    finally:
        os.unlink("a-link")


def by_hard_link(path):
    os.link(path, "a-hard-link")
    try:
        put("a-hard-link")
    finally:
        os.unlink("a-hard-link")


def moved_over(path):
    put("mine")
    os.rename("mine", path)


def by_openat2(path):
    how = struct.pack("QQQ", os.O_WRONLY | os.O_TRUNC, 0, 0)
    fd = call("openat2", -100, path.encode(), ctypes.c_char_p(how), len(how))
    os.write(fd, b"x")
    os.close(fd)


def by_child(path):
    subprocess.run(["sh", "-c", 'echo changed > "$1"', "sh", path], check=True, stderr=subprocess.DEVNULL)


def by_copied_program(path):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "cp")
        shutil.copy("/bin/cp", program)
        subprocess.run([program, "/etc/hostname", path], check=True, stderr=subprocess.DEVNULL)


def by_dd(path):
    subprocess.run(["dd", "if=/dev/zero", f"of={path}", "bs=1", "count=1"], check=True, stderr=subprocess.DEVNULL)


def by_rename_of_folder(path):
    folder = os.path.dirname(path)
    os.rename(folder, folder + "-moved")
    os.mkdir(folder)
    put(path)


def replaced_folder(path):
    shutil.rmtree(os.path.dirname(path))


def exchanged(path):
    """renameat2 with RENAME_EXCHANGE."""
    put("mine")
    call(316 if X86 else 276, -100, b"mine", -100, path.encode(), 2)


def by_memory_program(path):
    """A program that exists in memory only."""
    fd = call("memfd_create", b"x", 0)
    with open("/bin/sh", "rb") as shell:
        os.write(fd, shell.read())
    subprocess.run([f"/proc/self/fd/{fd}", "-c", 'echo changed > "$1"', "sh", path], check=True, pass_fds=[fd], stderr=subprocess.DEVNULL)


WAYS = {
    "open": put, "append": lambda p: with_fd(p, os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, b"x")),
    "truncate": lambda p: os.truncate(p, 0), "unlink": os.unlink, "rename-away": lambda p: os.rename(p, p + ".away"),
    "rename-over": moved_over, "exchange": exchanged, "new-file": lambda p: put(p + ".new"), "new-folder": lambda p: os.mkdir(p + ".d"),
    "new-link": lambda p: os.symlink("/", p + ".l"), "new-fifo": lambda p: os.mkfifo(p + ".f"),
    "chmod": lambda p: os.chmod(p, 0o777), "times": lambda p: os.utime(p, (1, 1)), "map": through_map, "reopen": reopened,
    "nameless": nameless, "sendfile": copied, "symlink": by_link, "hard-link": by_hard_link, "openat2": by_openat2,
    "child": by_child, "copied-program": by_copied_program, "dd": by_dd, "memfd-program": by_memory_program,
    "self-root": lambda p: put("/proc/self/root" + p), "victim-root": lambda p: put(f"/proc/{json.loads(os.environ['BAIT'])['victim']}/root" + p),
    "self-cwd": lambda p: put("/proc/self/cwd/" + os.path.relpath(p)), "dotdot": lambda p: put(os.path.relpath(p)),
    "moved-folder": by_rename_of_folder, "removed-folder": replaced_folder,
    "xattr": lambda p: os.setxattr(p, "user.placet", b"1"),
    "allocate": lambda p: with_fd(p, os.O_WRONLY, lambda fd: os.posix_fallocate(fd, 0, 65536)),
    "parent-root": lambda p: put(f"/proc/{os.getppid()}/root" + p), "thread-root": lambda p: put(f"/proc/thread-self/root" + p),
    "socket-file": lambda p: socket.socket(socket.AF_UNIX).bind("/proc/self/cwd/" + os.path.relpath(os.path.dirname(p)) + "/s"),
}
EVERYWHERE = ["open", "unlink", "rename-over", "new-file", "reopen", "self-root", "moved-folder", "hard-link"]


def writing(place, ways):
    for way in ways:
        def function(bait, way=way, place=place):
            WAYS[way](os.path.join(bait[place], way, "bait"))
        TABLE.append((f"write-{place}-{way}", "write", "", function))


writing("shown", WAYS)
writing("fixed", WAYS)
writing("outside", EVERYWHERE + ["victim-root", "self-cwd", "child"])


# --- what git and agents obey ---------------------------------------------------------------------------------------

def obeyed(name, do, needs=""):
    """Each in a repository of its own, which is judged after the run."""
    TABLE.append((name, "obeyed", needs, lambda b: (os.chdir(os.path.join(b["repositories"], name)), do(b)) and None))


obeyed("git-config-write", lambda b: put(".git/config", "[core]\n fsmonitor = evil\n"))
obeyed("git-config-command", lambda b: subprocess.run(["git", "config", "core.fsmonitor", "evil"], check=True, stderr=subprocess.DEVNULL))
obeyed("git-config-lock-rename", lambda b: (put(".git/config.lock", "[core]\n"), os.rename(".git/config.lock", ".git/config")))
obeyed("git-hook-new", lambda b: put(".git/hooks/pre-commit", "#!/bin/sh\n"))
obeyed("git-hooks-folder-moved", lambda b: os.rename(".git/hooks", ".git/hooks2"))
obeyed("git-folder-moved", lambda b: os.rename(".git", "git2"))
obeyed("git-info-attributes", lambda b: put(".git/info/attributes", "* filter=evil\n"))
obeyed("git-commondir", lambda b: put(".git/commondir", "../fake\n"))
obeyed("git-config-worktree", lambda b: put(".git/config.worktree", "[core]\n"))
obeyed("git-module-config", lambda b: put(".git/modules/lib/config", "[core]\n fsmonitor = evil\n"))
obeyed("git-module-hook", lambda b: put(".git/modules/lib/hooks/post-checkout", "#!/bin/sh\n"))
obeyed("git-module-new", lambda b: (os.makedirs(".git/modules/new/hooks"), put(".git/modules/new/HEAD"), put(".git/modules/new/config")))
obeyed("git-nested-repository", lambda b: subprocess.run(["git", "init", "-q", "nested"], check=True, stderr=subprocess.DEVNULL))
obeyed("git-bare-repository", lambda b: (os.makedirs("bare/objects"), os.makedirs("bare/refs"), put("bare/HEAD", "ref: refs/heads/x\n"), put("bare/config", "[core]\n fsmonitor = evil\n")))
obeyed("git-worktree-commondir", lambda b: put(".git/worktrees/w/commondir", "/fake\n"))
obeyed("git-file", lambda b: (os.mkdir("other"), put("other/.git", "gitdir: /fake\n")))
obeyed("agent-settings-new", lambda b: (os.mkdir(".newagent"), put(".newagent/settings.json")))
obeyed("agent-settings-deep", lambda b: (os.makedirs("a/b/.newagent"), put("a/b/.newagent/x")))
obeyed("agent-settings-link", lambda b: os.symlink("/etc", "sub/.newagent"))
obeyed("agent-settings-renamed-in", lambda b: (os.mkdir("harmless"), put("harmless/x"), os.makedirs("c"), os.rename("harmless", "c/.newagent")))
obeyed("agent-settings-case", lambda b: os.mkdir(".NewAgent"))
obeyed("agent-settings-unreadable", lambda b: (os.makedirs("d/.newagent/x"), os.chmod("d/.newagent", 0)))
obeyed("workflow-new", lambda b: (os.makedirs(".ci/workflows"), put(".ci/workflows/x.yml")))
obeyed("linked-settings-replaced", lambda b: (os.unlink(".linked"), os.mkdir(".linked"), put(".linked/x")))
obeyed("linked-settings-target", lambda b: put("real-settings/bait"))


# --- reading secrets ------------------------------------------------------------------------------------------------

def read(path):
    with open(path, "rb") as file:
        return file.read(65536).decode("utf-8", "replace")


def reading(name, function, needs=""):
    TABLE.append((f"read-{name}", "secret", needs, function))


reading("workspace-env", lambda b: read(".env"))
reading("deep-env", lambda b: read("sub/deep/.env"))
reading("key-file", lambda b: read("sub/server.pem"))
reading("secret-folder", lambda b: read(".vault/token"))
reading("list-secret-folder", lambda b: "SECRET" if os.listdir(".vault") else "")
reading("hard-link", lambda b: read("innocent"))
reading("new-hard-link", lambda b: (os.link(".env", "l1"), read("l1"))[1])
reading("symlink", lambda b: read("link-to-env"))
reading("new-symlink", lambda b: (os.symlink(".env", "l2"), read("l2"))[1])
reading("renamed", lambda b: (os.rename("sub/deep/.env", "sub/deep/e"), read("sub/deep/e"))[1])
reading("renamed-folder", lambda b: (os.rename("sub2", "sub3"), read("sub3/.env"))[1])
reading("through-root", lambda b: read("/proc/self/root" + os.path.abspath(".env")))
reading("through-cwd", lambda b: read("/proc/self/cwd/.env"))
reading("through-parent-cwd", lambda b: read(f"/proc/{os.getppid()}/cwd/.env"))
reading("chmod-first", lambda b: (os.chmod(".env", 0o644), read(".env"))[1])
reading("other-program", lambda b: subprocess.run(["cat", ".env"], capture_output=True, text=True).stdout)
reading("archive", lambda b: secrets_in(subprocess.run(["tar", "-cf", "-", "."], capture_output=True).stdout))
reading("search", lambda b: subprocess.run(["grep", "-ra", "SECRET", "."], capture_output=True).stdout.decode("latin1"))
reading("home-ssh", lambda b: read(b["home"] + "/.ssh/id_rsa"))
reading("home-token", lambda b: read(b["home"] + "/.config/placet/token"))
reading("placet-data", lambda b: read(b["home"] + "/.local/share/placet/placet.db"))
reading("shown-credentials", lambda b: read(b["shown"] + "/credentials"))
reading("other-project", lambda b: read(b["outside"] + "/project/.env"))
reading("git-show-other", lambda b: subprocess.run(["git", "--git-dir", b["outside"] + "/repo/.git", "show", "HEAD:f"], capture_output=True, text=True).stdout)
reading("shadow", lambda b: "SECRET" if "root:" in read("/etc/shadow") else "", "root")
reading("environment-parent", lambda b: read(f"/proc/{b['victim']}/environ"))
reading("environment-token", lambda b: os.environ.get("BAIT_TOKEN", ""))
reading("environment-placet", lambda b: os.environ.get("PLACET_TOKEN", ""))
reading("environment-any", lambda b: environments(b))
reading("command-lines", lambda b: of_all("cmdline"))
reading("victim-files", lambda b: read(f"/proc/{b['victim']}/fd/9"))
reading("victim-cwd", lambda b: read(f"/proc/{b['victim']}/cwd/secret"))
reading("victim-root", lambda b: read(f"/proc/{b['victim']}/root{b['outside']}/secret"))
reading("inherited-file", lambda b: os.pread(b["fd_file"], 100, 0).decode())
reading("inherited-folder", lambda b: with_dir(b["fd_folder"], "secret"))
reading("inherited-any", lambda b: "".join(try_fd(fd) for fd in range(3, 64)))
reading("kernel-log", lambda b: "SECRET" if call("syslog", 10, 0, 0) >= 0 else "", "root")
reading("swapped-path", lambda b: swapped(".env"))
reading("map-files", lambda b: "SECRET" if os.listdir(f"/proc/{b['victim']}/map_files") else "")
reading("shared-memory-file", lambda b: read(b["shm"]))
reading("temporary-file", lambda b: read(b["temp"]))
reading("kcore", lambda b: "SECRET" if with_fd("/proc/kcore", os.O_RDONLY, lambda fd: os.read(fd, 4)) == b"\x7fELF" else "", "exists:/proc/kcore")
reading("keys", lambda b: "SECRET" if "\n" in read("/proc/keys") or read("/proc/key-users") else "")


def secrets_in(data):
    import re
    return " ".join(found.decode() for found in re.findall(rb"SECRET-[0-9a-f]+", data))


def of_all(name, skip=()):
    text = b""
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) not in skip:
            try:
                with open(f"/proc/{process}/{name}", "rb") as file:
                    text += file.read()
            except OSError:
                pass
    return secrets_in(text)


def environments(bait):
    return of_all("environ", skip=(os.getpid(), os.getppid()))


def with_dir(fd, name):
    inner = os.open(name, os.O_RDONLY, dir_fd=fd)
    return os.read(inner, 100).decode()


def try_fd(fd):
    try:
        return os.pread(fd, 100, 0).decode("utf-8", "replace")
    except OSError:
        try:
            return with_dir(fd, "secret")
        except OSError:
            return ""


def swapped(path):
    """Reads through a link that another process turns to and fro between a harmless file and the secret."""
    put("harmless.txt", "nothing")
    child = os.fork()
    if child == 0:
        for _ in range(3000):
            for target in ("harmless.txt", path):
                try:
                    os.symlink(target, "flip.tmp")
                    os.rename("flip.tmp", "flip")
                except OSError:
                    pass
        os._exit(0)
    seen = ""
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        try:
            seen = max(seen, read("flip"), key=lambda text: "SECRET" in text)
        except OSError:
            pass
    return seen


# --- reaching others ------------------------------------------------------------------------------------------------

def stream(address, family, name):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(3)
        s.connect(address)
        s.sendall(name.encode() + b"\n")
        s.recv(10)


def reaching(name, function, needs=""):
    TABLE.append((f"reach-{name}", "reach", needs, lambda b: function(b, f"reach-{name}")))


def send_udp(b, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(name.encode(), ("127.0.0.1", b["udp"]))


def post(b, name):
    import urllib.request
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{b['tcp']}/v1/requests/1/decisions", data=name.encode() + b"\n", method="POST"), timeout=3).read(5)


def relative_socket(b, name):
    os.chdir(b["shown"])
    stream("agent.sock", socket.AF_UNIX, name)


def linked_socket(b, name):
    os.symlink(b["docker"], "dock")
    stream("dock", socket.AF_UNIX, name)


def datagram(b, name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(name.encode(), b["datagram"])


def fifo(b, name):
    with_fd(b["fifo"], os.O_WRONLY | os.O_NONBLOCK, lambda fd: os.write(fd, name.encode() + b"\n"))


def inherited_socket(b, name):
    os.write(b["fd_socket"], name.encode() + b"\n")


def handed_socket(b, name):
    """Takes a descriptor out of the victim."""
    pid = call("pidfd_open", b["victim"], 0)
    fd = call("pidfd_getfd", pid, 8, 0)
    os.write(fd, name.encode() + b"\n")


reaching("tcp", lambda b, n: stream(("127.0.0.1", b["tcp"]), socket.AF_INET, n))
reaching("tcp6-mapped", lambda b, n: stream(("::ffff:127.0.0.1", b["tcp"]), socket.AF_INET6, n))
reaching("tcp-any-address", lambda b, n: stream(("0.0.0.0", b["tcp"]), socket.AF_INET, n))
reaching("tcp-own-address", lambda b, n: stream((b["address"], b["tcp"]), socket.AF_INET, n))
reaching("udp", send_udp)
reaching("http-post", post)
reaching("bash-tcp", lambda b, n: subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{b['tcp']}; echo {n} >&3; read -t 2 x <&3"], check=True, stderr=subprocess.DEVNULL))
reaching("docker-socket", lambda b, n: stream(b["docker"], socket.AF_UNIX, n))
reaching("docker-socket-link", linked_socket)
reaching("ssh-agent", lambda b, n: stream(os.environ["SSH_AUTH_SOCK"], socket.AF_UNIX, n))
reaching("ssh-agent-path", lambda b, n: stream(b["ssh"], socket.AF_UNIX, n))
reaching("placet-socket", lambda b, n: stream(b["placet"], socket.AF_UNIX, n))
reaching("workspace-socket", lambda b, n: stream(os.path.abspath("agent.sock"), socket.AF_UNIX, n))
reaching("shown-socket", lambda b, n: stream(b["shown"] + "/agent.sock", socket.AF_UNIX, n))
reaching("shown-socket-relative", relative_socket)
reaching("socket-through-proc", lambda b, n: stream("/proc/self/root" + b["shown"] + "/agent.sock", socket.AF_UNIX, n))
reaching("abstract-socket", lambda b, n: stream("\0" + b["abstract"], socket.AF_UNIX, n))
reaching("datagram-socket", datagram)
reaching("fifo", fifo)
reaching("inherited-socket", inherited_socket)
reaching("socket-of-another", handed_socket)
reaching("seqpacket-child", lambda b, n: subprocess.run([sys.executable, "-c", f"import socket; s=socket.socket(socket.AF_UNIX); s.connect({b['docker']!r}); s.sendall(b'{n}\\n'); s.recv(5)"], check=True, stderr=subprocess.DEVNULL))


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


def main():
    bait = json.loads(os.environ["BAIT"])
    results = {}
    for name, kind, needs, function in TABLE:
        if not can(needs):
            continue
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(20)
            try:
                found = function(bait)
                text = "did" if found is True else found if isinstance(found, str) else ""
            except BaseException as error:
                text = f"refused: {error!r}"
            try:
                os.write(writer, text.encode("utf-8", "replace")[-60000:])
            finally:
                os._exit(0)
        os.close(writer)
        parts = []
        # A child that stays behind holds the pipe: it closes it before it settles.
        while part := os.read(reader, 65536):
            parts.append(part)
        os.close(reader)
        os.waitpid(child, 0)
        results[name] = {"kind": kind, "said": b"".join(parts).decode("utf-8", "replace")}
    print(json.dumps(results))


def can(needs):
    """What an attempt needs to have an effect at all, on this machine; judged in the free run and handed on."""
    listed = os.environ.get("ATTEMPTS_NEEDS")
    if listed is not None:
        return needs in json.loads(listed)
    return True


if __name__ == "__main__":
    main()
