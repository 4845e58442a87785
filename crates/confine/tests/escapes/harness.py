"""Sets up bait, runs every attempt confined and free, and judges the effects from outside. Prints JSON."""

import concurrent.futures, hashlib, json, os, pty, re, resource, shutil, socket, stat, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER = sys.argv[1]
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
TOKEN = "SECRET-" + os.urandom(8).hex()
IS_ROOT = os.geteuid() == 0
# The program itself, for the attempts that call it.
PLACET = [os.environ["ESCAPE_PLACET"]] if "ESCAPE_PLACET" in os.environ else []
sys.path.insert(0, HERE)
import attempts, common  # noqa: E402


def put(path, text="untouched\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class Bait:
    """Everything that an attempt could reach, and what reached it."""

    def __init__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="e-", dir=sys.argv[2]))
        self.heard, self.close = set(), []
        self.home, self.ws = f"{self.base}/home", f"{self.base}/ws"
        self.shown, self.outside, self.repositories = f"{self.home}/.tools", f"{self.base}/outside", f"{self.base}/repositories"
        self.files()
        self.servers()
        self.processes()

    def files(self):
        for place in (self.shown, f"{self.ws}/.agent", self.outside):
            for way in attempts.WAYS:
                put(f"{place}/{way}/bait")
        for path in (f"{self.ws}/.env", f"{self.ws}/sub/deep/.env", f"{self.ws}/sub2/.env", f"{self.ws}/sub/server.pem",
                     f"{self.ws}/.vault/token", f"{self.home}/.ssh/id_rsa", f"{self.home}/.config/placet/token",
                     f"{self.home}/.local/share/placet/placet.db", f"{self.shown}/credentials", f"{self.outside}/project/.env",
                     f"{self.outside}/secret", f"{self.base}/sessions/other/tmp/secret"):
            put(path, TOKEN)
        os.makedirs(f"{self.base}/sessions/own")
        os.link(f"{self.ws}/.env", f"{self.ws}/innocent")
        os.symlink(".env", f"{self.ws}/link-to-env")
        os.makedirs(f"{self.ws}/beats")
        self.repository(self.ws)
        self.repository(f"{self.outside}/repo", commit=True)
        template = f"{self.base}/template"
        self.repository(template)
        for path in ("real-settings/bait", ".git/modules/lib/HEAD", ".git/modules/lib/config", ".git/modules/lib/hooks/x",
                     ".git/worktrees/w/commondir", ".git/worktrees/w/HEAD", ".git/hooks/x", "sub/x"):
            put(f"{template}/{path}")
        os.symlink("real-settings", f"{template}/.linked")
        for name, kind, _, _ in attempts.TABLE:
            if kind == "obeyed":
                shutil.copytree(template, f"{self.repositories}/{name}", symlinks=True)
        self.shm, self.temp = f"/dev/shm/escape-{os.getpid()}", f"/tmp/escape-{os.getpid()}"
        for path in (self.shm, self.temp):
            put(path, TOKEN)
        self.setuid = f"{self.shown}/setuid-python"
        if IS_ROOT:
            shutil.copy(os.path.realpath("/usr/bin/python3"), self.setuid)
            os.chown(self.setuid, 1, -1)
            os.chmod(self.setuid, 0o4755)
            for folder in (self.base, self.home, self.shown):
                os.chmod(folder, 0o755)

    def repository(self, path, commit=False):
        os.makedirs(path, exist_ok=True)
        git = lambda *words: subprocess.run(["git", "-C", path, *words], check=True, capture_output=True)
        git("init", "-q")
        if commit:
            put(f"{path}/f", TOKEN)
            git("add", "f")
            git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")

    def serve(self, server, kind):
        def read_all():
            while True:
                try:
                    if kind == "datagram":
                        self.hear(server.recv(4096))
                        continue
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()
        threading.Thread(target=read_all, daemon=True).start()
        self.close.append(server.close)

    def answer(self, connection):
        text = b""
        connection.settimeout(10)
        try:
            while b"reach-" not in text or not text.endswith(b"\n"):
                part = connection.recv(4096)
                if not part:
                    break
                text += part
            self.hear(text)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" if text.startswith(b"POST") else b"ok\n")
        except OSError:
            pass
        connection.close()

    def hear(self, text):
        self.heard.update(word.decode() for word in re.findall(rb"reach-[a-z0-9-]+", text))

    def unix(self, path, kind=socket.SOCK_STREAM):
        if not path.startswith("\0"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        server = socket.socket(socket.AF_UNIX, kind)
        server.bind(path)
        if kind == socket.SOCK_STREAM:
            server.listen(64)
        self.serve(server, "stream" if kind == socket.SOCK_STREAM else "datagram")

    def servers(self):
        self.tcp = socket.create_server(("0.0.0.0", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.serve(self.tcp, "stream")
        self.serve(self.udp, "datagram")
        self.abstract = "placet-escape-" + os.urandom(4).hex()
        # Paths of sockets are short.
        for path in ("run/docker.sock", "run/ssh.sock", "run/placet.sock", "ws/agent.sock", "home/.tools/agent.sock"):
            self.unix(f"{self.base}/{path}")
        self.unix("\0" + self.abstract)
        self.unix(f"{self.shown}/datagram.sock", socket.SOCK_DGRAM)
        self.fifo = f"{self.shown}/fifo"
        os.mkfifo(self.fifo)
        fd = os.open(self.fifo, os.O_RDWR)

        def listen():
            while True:
                self.hear(os.read(fd, 4096))
        threading.Thread(target=listen, daemon=True).start()
        self.ours, self.theirs = socket.socketpair()

        def pair():
            while part := self.ours.recv(4096):
                self.hear(part)
        threading.Thread(target=pair, daemon=True).start()
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            probe.connect(("192.0.2.1", 9))
            self.address = probe.getsockname()[0]
        except OSError:
            self.address = "127.0.0.2"

    def processes(self):
        self.fd_file = os.open(f"{self.outside}/secret", os.O_RDONLY)
        self.fd_folder = os.open(self.outside, os.O_RDONLY)
        number = self.theirs.fileno()
        # Whoever starts the harness waits for the end of its output.
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        script = f'exec 8>&{number} 9<"{self.outside}/secret"; cd "{self.outside}"; exec sleep 600'
        self.victim = subprocess.Popen(["bash", "-c", script, TOKEN], env={**os.environ, "BAIT_TOKEN": TOKEN}, pass_fds=[number], **quiet)
        while "sleep" not in open(f"/proc/{self.victim.pid}/comm").read():
            time.sleep(0.01)
        # Its command line names the secret too.
        self.shouter = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", TOKEN], **quiet)
        self.ipc = int.from_bytes(os.urandom(3), "big") + 1
        for name, arguments in (("shmget", (4096, 0o1600)), ("msgget", (0o1600,)), ("semget", (1, 0o1600))):
            common.call(name, self.ipc, *arguments)
        self.beats = {}
        for name, kind, _, _ in attempts.TABLE:
            if kind == "stay":
                os.mkfifo(f"{self.ws}/beats/{name}")
                self.beats[name] = os.open(f"{self.ws}/beats/{name}", os.O_RDONLY | os.O_NONBLOCK)

    def words(self):
        names = ("home", "shown", "outside", "repositories", "address", "abstract", "fifo", "shm", "temp", "setuid", "ipc", "fd_file", "fd_folder")
        words = {name: getattr(self, name) for name in names}
        words.update(sessions=f"{self.base}/sessions", fixed=f"{self.ws}/.agent", tcp=self.tcp.getsockname()[1], udp=self.udp.getsockname()[1], victim=self.victim.pid,
                     docker=f"{self.base}/run/docker.sock", data=f"{self.base}/run/placet-data", ssh=f"{self.base}/run/ssh.sock", placet=f"{self.base}/run/placet.sock",
                     datagram=f"{self.shown}/datagram.sock", fd_socket=self.theirs.fileno())
        return words

    def remove(self):
        for process in (self.victim, self.shouter):
            process.kill()
            process.wait()
        for close in self.close:
            close()
        for path in (self.shm, self.temp):
            os.unlink(path)
        subprocess.run(["ipcrm", "-M", str(self.ipc), "-Q", str(self.ipc), "-S", str(self.ipc)], capture_output=True)
        subprocess.run(["chmod", "-R", "u+rwX", self.base], capture_output=True)
        shutil.rmtree(self.base, ignore_errors=True)


PROTECTED = re.compile(
    r"(^|/)\.git/(config|config\.worktree|commondir|info|hooks)(/|$)|\.git/(modules|worktrees)/.*/(config|hooks|commondir)(/|$)|newagent|\.ci/workflows|^\.linked|^real-settings|"
    r"^bare/config|^other/\.git$|^nested/\.git/config", re.I)


def seen(root, only=None):
    """Everything below a folder, so that any change shows."""
    view = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, root)
            if only and not only.search(short):
                continue
            about = os.lstat(path)
            content = ""
            if stat.S_ISLNK(about.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(about.st_mode) and about.st_size < 1 << 20:
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            times = 0 if stat.S_ISDIR(about.st_mode) else about.st_mtime_ns
            xattrs = sorted(os.listxattr(path, follow_symlinks=False))
            view[short] = (about.st_mode, times if not only else 0, content, xattrs)
    return view


def can(needs):
    kind, _, rest = needs.partition(":")
    if kind == "socket":
        fd = common.LIBC.socket(*map(int, rest.split(":")))
        if fd >= 0:
            os.close(fd)
        return fd >= 0
    if kind == "exists":
        return IS_ROOT and os.access(rest, os.R_OK)
    return {"": True, "placet": "ESCAPE_PLACET" in os.environ, "data": resource.getrlimit(resource.RLIMIT_DATA)[1] == resource.RLIM_INFINITY, "root": IS_ROOT, "setuid": IS_ROOT, "never": False, "x32": False, "core": resource.getrlimit(resource.RLIMIT_CORE)[1] != 0,
            "tty": os.path.exists("/dev/tty") and os.isatty(0), "disk": any(stat.S_ISBLK(os.stat("/dev/" + n).st_mode) for n in os.listdir("/dev") if os.path.exists("/dev/" + n))}[kind]


def profile(bait, **more):
    return json.dumps({
        "version": 1, "workspace": [bait.ws] + [f"{bait.repositories}/{name}" for name, kind, _, _ in attempts.TABLE if kind == "obeyed"],
        "cwd": bait.ws, "home": bait.home, "show": ["~/.tools", sys.base_prefix, HERE, *PLACET],
        "read_only": [".git", ".agent", ".newagent", ".ci/workflows", ".linked"], "hidden": [".env", "*.pem", ".vault", "credentials", "~/.ssh"],
        "drop_env": ["BAIT_TOKEN"], **more})


def environment(bait, needs):
    return {**os.environ, "BAIT": json.dumps(bait.words()), "BAIT_TOKEN": TOKEN, "PLACET_TOKEN": TOKEN, "SSH_AUTH_SOCK": bait.words()["ssh"],
            "ATTEMPTS_NEEDS": json.dumps(needs), "PYTHONDONTWRITEBYTECODE": "1"}


def round_of(confined, needs):
    bait = Bait()
    try:
        before = {place: seen(place) for place in (bait.shown, f"{bait.ws}/.agent", bait.outside)}
        repositories = {name: seen(f"{bait.repositories}/{name}", PROTECTED) for name in os.listdir(bait.repositories)}
        command = [os.path.realpath(sys.executable), f"{HERE}/attempts.py"]
        if confined:
            command = [RUNNER, "run", "--profile", profile(bait, kept=f"{bait.base}/sessions/own"), "--", *command]
        done = subprocess.run(command, cwd=bait.ws, env=environment(bait, needs), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              pass_fds=[bait.fd_file, bait.fd_folder, bait.theirs.fileno()])
        if done.returncode:
            sys.exit(f"the attempts ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-2000:]}")
        said = json.loads(done.stdout.strip().splitlines()[-1])
        return {name: judge(bait, name, result, before, repositories, confined) for name, result in said.items()}, said, done.stderr
    finally:
        bait.remove()


def judge(bait, name, result, before, repositories, confined):
    kind, said = result["kind"], result["said"]
    if kind == "write":
        place = {"shown": bait.shown, "fixed": f"{bait.ws}/.agent", "outside": bait.outside}[name.split("-")[1]]
        way = name.split("-", 2)[2]
        mine = lambda view: {path: what for path, what in view.items() if path.split("/")[0] in (way, way + "-moved")}
        return mine(before[place]) != mine(seen(place))
    if kind == "data":
        return os.path.exists(bait.words()["data"])
    if kind == "obeyed":
        return repositories[name] != seen(f"{bait.repositories}/{name}", PROTECTED)
    if kind == "secret":
        return said == "SECRET" or TOKEN in said
    if kind == "reach":
        fence(bait)
        return name in bait.heard
    if kind == "stay":
        return alive(bait, name, confined)
    return said == "did"


def fence(bait):
    """Servers hear in order: after this was heard, everything before it was."""
    for family, address in ((socket.AF_INET, ("127.0.0.1", bait.tcp.getsockname()[1])), (socket.AF_UNIX, bait.words()["docker"])):
        with socket.socket(family) as s:
            s.connect(address)
            s.sendall(b"reach-fence\n")
            s.recv(10)


def alive(bait, name, confined):
    text = b""
    for _ in range(1 if confined else 6000):
        try:
            part = os.read(bait.beats[name], 100)
            text += part
            if not part and not confined:
                time.sleep(0.01)
        except BlockingIOError:
            if text:
                os.kill(int(text.split()[0]), 9)
            return True
    return False


# --- attempts that need a run of their own --------------------------------------------------------------------------

class Room:
    """A workspace without bait."""

    repositories = ""

    def __init__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="e-", dir=sys.argv[2]))
        self.home, self.ws = f"{self.base}/home", f"{self.base}/ws"
        os.makedirs(self.home)
        os.makedirs(self.ws)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)


def bomb(name, script, limits, sentence):
    """Free, it comes to its end; confined, a limit ends it."""
    with Room() as room:
        run = [RUNNER, "run", "--profile", profile(room, workspace=[room.ws], limits=limits), "--", os.path.realpath(sys.executable), "-c", script]
        started = subprocess.Popen(run, cwd=room.ws, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        free = subprocess.run([sys.executable, "-c", script], cwd=room.ws, capture_output=True)
        _, told = started.communicate()
        # A user who is not root meets the kernel's own limit first: the bomb cannot be built.
        ended = (started.returncode == 124 and sentence in told) or (name == "bomb-processes" and "unavailable" in told)
        return {"kind": "bomb", "free": free.returncode == 0, "confined": not ended, "said": f"{started.returncode} {told[-200:]}"}


BOMBS = [
    ("bomb-memory", "import os\nb=[]\nfor _ in range(3): os.fork()\nfor _ in range(30):\n b.append(bytearray(b'x')*(4<<20))\nimport time; time.sleep(1)", {"memory": 200 << 20}, "of memory"),
    ("bomb-processes", "import os, time\nfor _ in range(120):\n  if os.fork() == 0: time.sleep(1.5); os._exit(0)\ntime.sleep(1)", {"processes": 50}, "processes"),
    ("bomb-time", "import time; time.sleep(1.8)", {"seconds": 1}, "longer than"),
    ("bomb-time-deaf", "import time, signal; signal.signal(15, signal.SIG_IGN); time.sleep(5)", {"seconds": 1}, "longer than"),
    ("bomb-output", "import sys\nfor _ in range(64): sys.stdout.write('x' * 65536)", {"output": 1 << 20}, "wrote more"),
]


def planted(confined):
    """Leaves links in `/tmp` for the next run, which empties it because it is too full."""
    with Room() as room:
        sessions, outside = f"{room.base}/sessions", f"{room.base}/outside"
        for folder in (sessions, outside):
            os.mkdir(folder)
        put(f"{outside}/file")
        temp = "/tmp" if confined else f"{room.base}/tmp"
        script = f"""
import os, shutil
os.makedirs({temp!r}, exist_ok=True)
os.symlink({outside!r}, {temp!r} + "/link")
os.makedirs({temp!r} + "/deep/er")
os.symlink({outside!r}, {temp!r} + "/deep/er/link")
open({temp!r} + "/big", "wb").write(b"x" * (3 << 20))
open({temp!r} + "/link/new", "w")
"""
        before = seen(outside)
        for each in (script, "pass"):
            command = [os.path.realpath(sys.executable), "-c", each]
            if confined:
                given = profile(room, workspace=[room.ws], kept=f"{sessions}/own", limits={"temp": 1 << 20})
                command = [RUNNER, "run", "--profile", given, "--", *command]
            subprocess.run(command, cwd=room.ws, capture_output=True)
        left = os.listdir(f"{sessions}/own/tmp") if confined else []
        return seen(outside) != before or bool(left)


def terminal(confined):
    """Types a line into the terminal that the run was started from."""
    script = "import fcntl\nfor c in b'PLACET-TYPED':\n  fcntl.ioctl(0, 0x5412, bytes([c]))\nprint('TYPED-ALL')"
    with Room() as room:
        command = [os.path.realpath(sys.executable), "-c", script]
        if confined:
            command = [RUNNER, "run", "--profile", profile(room, workspace=[room.ws]), "--", *command]
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(room.ws)
            os.execv(command[0], command)
        text = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            text += part
        os.waitpid(pid, 0)
        return b"TYPED-ALL" in text


def main():
    needs = sorted({needs for _, _, needs, _ in attempts.TABLE if can(needs)})
    confined, said, notes = round_of(True, needs)
    if ONLY == "confined":
        print(json.dumps({"results": {name: {"confined": effect, "said": said[name]["said"][-300:]} for name, effect in confined.items()}}))
        return
    free, free_said, _ = round_of(False, needs)
    results = {}
    for name, effect in confined.items():
        results[name] = {"kind": said[name]["kind"], "confined": effect, "free": free[name], "said": said[name]["said"][-300:], "free_said": free_said[name]["said"][-200:]}
    if ONLY != "table":
        with concurrent.futures.ThreadPoolExecutor(len(BOMBS)) as pool:
            results.update(zip([each[0] for each in BOMBS], pool.map(lambda each: bomb(*each), BOMBS)))
        results["links-left-for-the-next-run"] = {"kind": "kept", "confined": planted(True), "free": planted(False), "said": ""}
        if os.path.exists("/proc/sys/dev/tty/legacy_tiocsti") and open("/proc/sys/dev/tty/legacy_tiocsti").read().strip() == "1":
            results["type-into-terminal"] = {"kind": "terminal", "confined": terminal(True), "free": terminal(False), "said": ""}
    print(json.dumps({"results": results, "notes": notes, "skipped": sorted(n for n, _, need, _ in attempts.TABLE if need not in needs)}))


if __name__ == "__main__":
    main()
