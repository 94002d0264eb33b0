"""The plugin ABI through ctypes: loads a plugin and runs single batches through it."""

import ctypes as c
from typing import NamedTuple

FRAMING_DELIMITER, FRAMING_U32LE = 0, 2
PADDING = 64


class Host(c.Structure):
    pass


class Output(c.Structure):
    pass


Cancelled = c.CFUNCTYPE(c.c_int, c.POINTER(Host))
Explain = c.CFUNCTYPE(None, c.POINTER(Host), c.c_char_p)
Reserve = c.CFUNCTYPE(c.c_void_p, c.POINTER(Output), c.c_uint64)
Commit = c.CFUNCTYPE(None, c.POINTER(Output), c.c_uint64)
FailRecord = c.CFUNCTYPE(None, c.POINTER(Output), c.c_uint64, c.c_char_p)

Host._fields_ = [
    ("struct_size", c.c_uint32),
    ("abi_version", c.c_uint32),
    ("context", c.c_void_p),
    ("cancelled", Cancelled),
    ("explain", Explain),
]
Output._fields_ = [
    ("struct_size", c.c_uint32),
    ("reserved", c.c_uint32),
    ("context", c.c_void_p),
    ("emitted", c.c_uint64),
    ("filtered", c.c_uint64),
    ("failed", c.c_uint64),
    ("reserve", Reserve),
    ("commit", Commit),
    ("fail_record", FailRecord),
]


class Batch(c.Structure):
    _fields_ = [
        ("struct_size", c.c_uint32),
        ("flags", c.c_uint32),
        ("data", c.c_void_p),
        ("size", c.c_uint64),
        ("record_count", c.c_uint64),
        ("record_offsets", c.c_void_p),
        ("sequence", c.c_uint64),
        ("byte_offset", c.c_uint64),
        ("attempt", c.c_uint32),
        ("worker", c.c_uint32),
        ("node", c.c_uint32),
        ("framing", c.c_uint32),
        ("delimiter", c.c_char_p),
        ("delimiter_size", c.c_uint64),
        ("record_bytes", c.c_uint64),
    ]


class Plugin(c.Structure):
    _fields_ = [
        ("abi_version", c.c_uint32),
        ("struct_size", c.c_uint32),
        ("name", c.c_char_p),
        ("flags", c.c_uint64),
        ("create", c.CFUNCTYPE(c.c_void_p, c.c_char_p, c.POINTER(Host))),
        ("process", c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Batch), c.POINTER(Output))),
        ("destroy", c.CFUNCTYPE(None, c.c_void_p)),
    ]


class Outcome(NamedTuple):
    records: list[bytes]
    emitted: int
    filtered: int
    failed: list[int]  # indices of the failed records


class LoadedPlugin:
    def __init__(self, path: str, config: bytes = b""):
        self._plugin = Plugin.in_dll(c.CDLL(path), "gm_plugin")
        self._explanation = b""
        self._host = Host(c.sizeof(Host), 1, None, Cancelled(lambda host: 0), Explain(self._explain))
        self._state = self._plugin.create(config, c.byref(self._host))
        if not self._state:
            raise ValueError(self._explanation.decode())

    def _explain(self, host, text: bytes) -> None:
        self._explanation = text

    def run(self, records: list[bytes]) -> Outcome:
        """One batch of `records`, framed by lengths, so that a record may hold any byte."""
        data = b"".join(len(record).to_bytes(4, "little") + record for record in records)
        memory = c.create_string_buffer(data + b"0" * PADDING, len(data) + PADDING)
        batch = Batch(struct_size=c.sizeof(Batch), data=c.addressof(memory), size=len(data),
                      record_count=len(records), framing=FRAMING_U32LE)
        written, failed, room = bytearray(), [], []

        def reserve(out, size):
            room[:] = [c.create_string_buffer(size)]
            return c.addressof(room[0])

        output = Output(
            struct_size=c.sizeof(Output),
            reserve=Reserve(reserve),
            commit=Commit(lambda out, size: written.extend(room[0].raw[:size])),
            fail_record=FailRecord(lambda out, index, reason: failed.append(index)),
        )
        if self._plugin.process(self._state, c.byref(batch), c.byref(output)) != 0:
            raise RuntimeError(self._explanation.decode())
        return Outcome(unframed(bytes(written)), output.emitted, output.filtered, failed)


def unframed(data: bytes) -> list[bytes]:
    records, at = [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        records.append(data[at + 4 : end])
        at = end
    return records
