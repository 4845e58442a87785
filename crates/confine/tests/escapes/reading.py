"""Reading secrets, and reaching other programs by sockets, pipes and inherited descriptors."""

import os, socket, subprocess, sys

from common import TABLE, call, put, read, with_fd

# --- reading secrets ------------------------------------------------------------------------------------------------

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
reading("file-of-root-alone", lambda b: "SECRET" if any(True for f, _, n in os.walk("/etc") for x in n if not os.path.islink(f + "/" + x) and not os.stat(f + "/" + x).st_mode & 4 and read(f + "/" + x)) else "", "root")
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
reading("other-session", lambda b: read(b["sessions"] + "/other/tmp/secret"))
reading("other-session-above", lambda b: read("/tmp/../../other/tmp/secret") if os.path.exists("/tmp/../../other") else read(b["sessions"] + "/own/../other/tmp/secret"))
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


# --- Placet itself, where its program is given ----------------------------------------------------------------------

def placet(*words):
    subprocess.run([os.environ["ESCAPE_PLACET"], *words], check=True, capture_output=True, timeout=15)


TABLE.append(("placet-key-new", "data", "placet", lambda b: placet("key", "new", "--role", "admin", "--name", "eve", "--data", b["data"])))
reaching("placet-approve", lambda b, n: placet("approve", "--group", n, "--url", f"http://127.0.0.1:{b['tcp']}"), "placet")
reaching("placet-inbox", lambda b, n: placet("inbox", "--agent", n, "--url", f"http://127.0.0.1:{b['tcp']}"), "placet")
