"""System calls of this process, and of all that it starts, that the kernel is told to answer without doing them."""

import ctypes
import os
import platform
import struct

_ARCHITECTURES = {
    "x86_64": (0xC000003E, {"lseek": 8, "sendfile": 40, "splice": 275, "fallocate": 285, "copy_file_range": 326}),
    "aarch64": (0xC00000B7, {"lseek": 62, "sendfile": 71, "splice": 76, "fallocate": 47, "copy_file_range": 285}),
}
KNOWN = platform.machine() in _ARCHITECTURES

_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_ARCHITECTURE, _THIRD_ARGUMENT = 4, 32  # where they lie in what a filter may look at


def answer(calls, number: int, third=None) -> None:
    """Each of the calls fails with errno `number`, or gives 0 if that is 0: only where its third argument is
    one of `third`, if that is given."""
    architecture, numbers = _ARCHITECTURES[platform.machine()]
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _ALLOW)]
    for call in calls:
        tests = [(_LOAD, 0, 0, _THIRD_ARGUMENT)] if third else []
        for at, value in enumerate(third or ()):
            tests.append((_JUMP_EQUAL, len(third) - at, 0, value))
        body = [*tests, *([(_RETURN, 0, 0, _ALLOW)] if third else []), (_RETURN, 0, 0, _ERRNO | number)]
        steps += [(_LOAD, 0, 0, 0), (_JUMP_EQUAL, 0, len(body), numbers[call]), *body]
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
