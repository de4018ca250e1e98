"""First bytes of pcap and pcapng files."""

from typing import Final

# Byte order, ticks per second, and length of a packet's header in a pcap file, by the file's first four bytes. The last
# two are those of a patched libpcap (Kuznetzov), whose headers are longer.
PCAP_MAGIC: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6, 16),
    b"\xa1\xb2\xc3\xd4": (">", 10**6, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9, 16),
    b"\xa1\xb2\x3c\x4d": (">", 10**9, 16),
    b"\x34\xcd\xb2\xa1": ("<", 10**6, 24),
    b"\xa1\xb2\xcd\x34": (">", 10**6, 24),
}
PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"


def is_capture(data: bytes) -> bool:
    """Returns whether the content begins like a pcap or pcapng file."""
    return data[:4] in PCAP_MAGIC or (data.startswith(PCAPNG_MAGIC) and len(data) >= 12)
