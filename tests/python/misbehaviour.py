"""What a function of records may do to the worker that calls it. Each is called inside the function."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time


class NeedsTwo(Exception):
    """Is pickled, and cannot be made again."""

    def __init__(self, left, right):
        super().__init__(f"{left}|{right}")


class CannotReduce(Exception):
    def __reduce__(self):
        raise RuntimeError("reduce failed")


class WithoutWords(Exception):
    def __str__(self):
        raise RuntimeError("str failed")


class DiesWhenDescribed(Exception):
    def __reduce__(self):
        os._exit(9)


def raising(make, *arguments):
    def do():
        raise make(*arguments)

    return do


def raise_with_cause():
    try:
        raise NeedsTwo(1, 2)
    except NeedsTwo as error:
        raise ValueError("outer") from error


def raise_with_arguments():
    raise OSError(5, "what", "where")


def recurse():
    return recurse()


def recurse_in_c():
    def key(_):
        return sorted([1], key=key)

    return key(0)


def exhaust_memory():
    with open("/proc/self/statm") as file:
        here = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (here + (64 << 20), before[1]))
    kept = []
    try:
        while True:
            kept.append(bytearray(4 << 20))
    finally:
        kept.clear()
        resource.setrlimit(resource.RLIMIT_AS, before)


def kill(number):
    return lambda: os.kill(os.getpid(), number)


def spin():
    while True:
        pass


def block_in_c_with_the_interpreter_locked():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        ctypes.PyDLL(None).pause()


def close_descriptors():
    os.closerange(0, 10)


def change_directory():
    os.chdir("/")


def start_threads():
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(1000,)).start()


def fork_and_return():
    os.fork()


def fork_and_raise():
    if os.fork() == 0:
        raise ValueError("in the child")


def fork_and_exit():
    if os.fork() == 0:
        sys.exit(3)


def leave_a_process():
    subprocess.Popen(["sleep", "1000"])


def write_to_standard_output():
    print("from a worker")
    sys.stdout.write("without an end of line")
    os.write(1, b"past the buffer\n")


def break_standard_output():
    sys.stdout.close()
    sys.stdout = None


def limit_everything():
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))


def ignore_signals():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))


def take_the_exit_codes_of_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
