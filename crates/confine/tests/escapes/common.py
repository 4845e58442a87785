"""What all attempts use: raw system calls, small helpers, and the table they are in."""

import ctypes, os

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


def put(path, text="changed"):
    with open(path, "w") as file:
        file.write(text)


def with_fd(path, flags, use):
    fd = os.open(path, flags)
    try:
        return use(fd)
    finally:
        os.close(fd)


def read(path):
    with open(path, "rb") as file:
        return file.read(65536).decode("utf-8", "replace")
