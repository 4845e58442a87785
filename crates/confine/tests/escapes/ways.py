"""Writing: every way to change a file, in every place that must not change; and what git and agents obey."""

import ctypes, json, mmap, os, shutil, socket, struct, subprocess, tempfile

from common import TABLE, X86, call, put, with_fd

# --- writing: every way to change a file, in every place that must not change ---------------------------------------

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
    "parent-root": lambda p: put(f"/proc/{os.getppid()}/root" + p), "thread-root": lambda p: put("/proc/thread-self/root" + p),
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
