"""Losses by packet number: a classifier that counts data packets and drops those in a list.

It counts packets with more than 8 bytes of payload, and so excludes SYNs, ACKs and window probes.
"""

import ctypes
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SYS_BPF: Final = 321
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, PROG_LOAD, OBJ_PIN = 0, 1, 2, 5, 6
HASH, ARRAY, SCHED_CLS = 1, 2, 3
PIN: Final = "/run/bpf/losses"
ETHERNET_IP_TCP_SYN: Final = 14 + 60

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, 128)
    done = int(_libc.syscall(SYS_BPF, command, buffer, 128))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"bpf {command}: {os.strerror(ctypes.get_errno())}")
    return done


def _pointer(buffer: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(buffer)


def _map(kind: int, key_bytes: int, entries: int) -> int:
    return _bpf(MAP_CREATE, struct.pack("=IIII", kind, key_bytes, 8, entries))


def _put(table: int, key: bytes, value: int) -> None:
    keys, values = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(struct.pack("=Q", value), 8)
    _bpf(MAP_UPDATE, struct.pack("=IIQQQ", table, 0, _pointer(keys), _pointer(values), 0))


def _get(table: int, key: bytes) -> int:
    keys, values = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(8)
    _bpf(MAP_LOOKUP, struct.pack("=IIQQQ", table, 0, _pointer(keys), _pointer(values), 0))
    return int(struct.unpack("=Q", values.raw)[0])


def _step(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, of << 4 | to, offset, value)


def _table(to: int, table: int) -> bytes:
    """Loads a table's address into a register, with one instruction of double length."""
    return _step(0x18, to, 1, value=table) + _step(0)


class Losses:
    """Losses by packet number, for packets that enter a device."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._seen = _map(ARRAY, 4, 1)
        self._listed = _map(HASH, 8, len(numbers))
        self._numbers = numbers
        for number in numbers:
            _put(self._listed, struct.pack("=Q", number), 0)
        self._program = _load(_program(self._seen, self._listed))

    def attach(self, namespace: str, device: str) -> None:
        """Attaches the classifier before all other processing of packets that enter a device."""
        path = ctypes.create_string_buffer(PIN.encode() + b"\0")
        _bpf(OBJ_PIN, struct.pack("=QI", _pointer(path), self._program))
        for command in (
            f"qdisc add dev {device} clsact",
            f"filter add dev {device} ingress bpf direct-action object-pinned {PIN}",
        ):
            subprocess.run(["tc", "-n", namespace, *command.split()], check=True)  # noqa: S603, S607 - runs in the guest
        # The filter keeps the program; the next case pins another one.
        Path(PIN).unlink()

    @property
    def seen(self) -> int:
        """Returns the number of data packets seen."""
        return _get(self._seen, struct.pack("=I", 0))

    @property
    def lost(self) -> int:
        """Returns the number of packets in the list that were dropped."""
        return sum(_get(self._listed, struct.pack("=Q", number)) for number in self._numbers)


def _program(seen_map: int, listed: int) -> bytes:
    """Returns the program. Registers: 0 is the result, 1 to 5 are arguments, 10 is the frame."""
    look_up, passed, dropped = 1, 0, 2
    steps = [
        _step(0x61, 2, 1),  # r2 = skb->len
        _step(0xB5, 2, offset=20, value=ETHERNET_IP_TCP_SYN + 8),  # no more than headers: pass
        _step(0x62, 10, offset=-4),  # key 0
        _step(0xBF, 2, 10),
        _step(0x07, 2, value=-4),
        _table(1, seen_map),
        _step(0x85, value=look_up),
        _step(0x15, 0, offset=13),  # no such entry: pass
        _step(0x79, 1, 0),  # r1 = number of this packet
        _step(0x7B, 10, 1, offset=-16),
        _step(0x07, 1, value=1),
        _step(0x7B, 0, 1),
        _step(0xBF, 2, 10),
        _step(0x07, 2, value=-16),
        _table(1, listed),
        _step(0x85, value=look_up),
        _step(0x15, 0, offset=3),  # not listed: pass
        _step(0x7A, 0, value=1),
        _step(0xB7, 0, value=dropped),
        _step(0x95),
        _step(0xB7, 0, value=passed),
        _step(0x95),
    ]
    return b"".join(steps)


def _load(program: bytes) -> int:
    """Loads a BPF program into the kernel. Returns its descriptor; raises OSError with the verifier's log."""
    code = ctypes.create_string_buffer(program, len(program))
    license_name = ctypes.create_string_buffer(b"Apache-2.0")
    log = ctypes.create_string_buffer(1 << 16)
    attributes = struct.pack(
        "=IIQQIIQ", SCHED_CLS, len(program) // 8, _pointer(code), _pointer(license_name), 1, len(log), _pointer(log)
    )
    try:
        return _bpf(PROG_LOAD, attributes)
    except OSError as error:
        raise OSError(error.errno, log.value.decode()) from None
