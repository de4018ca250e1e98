"""Efficiencies of DVB-S2 and S2X, GSE fragments in their frames, and RLE fragments in bursts of DVB-RCS2."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from access_witnesses.tables import Row

NORMAL_BITS: Final = 64_800
SHORT_BITS: Final = 16_200
BBHEADER_BITS: Final = 80
# Bits per symbol.
MODULATIONS: Final = {
    "QPSK": 2,
    "8PSK": 3,
    "8APSK": 3,
    "16APSK": 4,
    "32APSK": 5,
    "64APSK": 6,
    "128APSK": 7,
    "256APSK": 8,
}
# Number of errors that the BCH code corrects if it is not 12 (EN 302 307-1 table 5a).
CORRECTED: Final = {"2/3": 10, "5/6": 10, "8/9": 8, "9/10": 8}
# Rates of the LDPC code with short frames, where they differ from their names (EN 302 307-1 table 5b).
SHORT_RATES: Final = {"1/4": "1/5", "1/2": "4/9", "3/4": "11/15", "4/5": "7/9", "5/6": "37/45"}
RATES: Final = {
    "QPSK": ("1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9", "9/10"),
    "8PSK": ("3/5", "2/3", "3/4", "5/6", "8/9", "9/10"),
    "16APSK": ("2/3", "3/4", "4/5", "5/6", "8/9", "9/10"),
    "32APSK": ("3/4", "4/5", "5/6", "8/9", "9/10"),
}
# Efficiencies without pilots of EN 302 307-1 table 13, for the MODCODs of RATES in order.
EN_302_307_1: Final = (
    0.490243, 0.656448, 0.789412, 0.988858, 1.188304, 1.322253, 1.487473, 1.587196, 1.654663, 1.766451, 1.788612,
    1.779991, 1.980636, 2.228124, 2.478562, 2.646012, 2.679207,
    2.637201, 2.966728, 3.165623, 3.300184, 3.523143, 3.567342,
    3.703295, 3.951571, 4.119540, 4.397854, 4.453027,
)  # fmt: skip
# Efficiencies of S2X by EN 302 307-2 (transcribed in pylink's modulation.py), normal frames without pilots.
EN_302_307_2: Final = {
    "QPSK 2/9": 0.4348, "QPSK 13/45": 0.5678, "QPSK 9/20": 0.8891, "QPSK 11/20": 1.0886, "8APSK 5/9": 1.6472,
    "8APSK 26/45": 1.7136, "8PSK 23/36": 1.8962, "8PSK 25/36": 2.0621, "8PSK 13/18": 2.1451, "16APSK 1/2": 1.9723,
    "16APSK 8/15": 2.1049, "16APSK 5/9": 2.1932, "16APSK 26/45": 2.2816, "16APSK 3/5": 2.3700, "16APSK 28/45": 2.4584,
    "16APSK 23/36": 2.5247, "16APSK 2/3": 2.6352, "16APSK 25/36": 2.7457, "16APSK 13/18": 2.8562, "16APSK 7/9": 3.0772,
    "16APSK 77/90": 3.3866, "32APSK 2/3": 3.2895, "32APSK 32/45": 3.5102, "32APSK 11/15": 3.6205, "32APSK 7/9": 3.8412,
    "64APSK 32/45": 4.2064, "64APSK 11/15": 4.3387, "64APSK 7/9": 4.6031, "64APSK 4/5": 4.7354, "64APSK 5/6": 4.9337,
    "128APSK 3/4": 5.1632, "128APSK 7/9": 5.3556, "256APSK 29/45": 5.0657, "256APSK 2/3": 5.2415, "256APSK 31/45": 5.4173,
    "256APSK 32/45": 5.5932, "256APSK 11/15": 5.7690, "256APSK 3/4": 5.9009,
}  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """One FECFRAME: bits after BCH decoding, and symbols of the PLFRAME."""

    bits: int
    symbols: int

    @property
    def efficiency(self) -> float:
        """Payload bits per symbol."""
        return (self.bits - BBHEADER_BITS) / self.symbols


def frame(
    modulation: str, rate: str, *, short: bool = False, pilots: bool = False, corrected: int | None = None
) -> Frame:
    """Returns the frame of a MODCOD.

    The BCH code takes 16 bits (14 in short frames) per corrected error; a slot has 90 symbols, the header takes one
    slot, and 36 pilots follow each 16 slots but the last.
    """
    coded = SHORT_BITS if short else NORMAL_BITS
    code = Fraction(SHORT_RATES.get(rate, rate) if short else rate)
    parity = 14 * 12 if short else 16 * (CORRECTED.get(rate, 12) if corrected is None else corrected)
    # 128APSK does not fill its last slot.
    slots = math.ceil(Fraction(coded, 90 * MODULATIONS[modulation]))
    symbols = 90 * (slots + 1) + (36 * ((slots - 1) // 16) if pilots else 0)
    return Frame(int(coded * code) - parity, symbols)


# Bytes of a burst by waveform: 536 symbols (3 to 12) and 1616 symbols (13 to 22).
WAVEFORM_BYTES: Final = {3: 38, 8: 115, 12: 194, 13: 123, 22: 599}


def rle_bursts(size: int, burst: int, overhead: int) -> int:
    """Returns the bursts of one packet alone: PPDU header 2 byte if whole, else 4 byte at the start and 2 byte later.

    `overhead` counts the bytes of protocol type, label and protection of the ALPDU.
    """
    whole = size + overhead
    if whole + 2 <= burst:
        return 1
    return 1 + math.ceil((whole - (burst - 4)) / (burst - 2))


# Maximum length of a GSE packet [byte].
GSE_MAX: Final = 4096


def gse_frames(size: int, data: int, label: int) -> tuple[int, int]:
    """Returns the frames of one packet alone, with `data` bytes each, and the bytes that it takes in them.

    A whole packet has a header of 4 byte and the label; the first fragment has 3 byte more, further ones have 3 byte, and
    the last one ends with a CRC of 4 byte. The last fragment has data.
    """
    frames, taken, sent = 1, 0, 0
    room = data
    while True:
        largest = min(room, GSE_MAX)
        left = size - sent
        header, trailer = (4 + label, 0) if sent == 0 else (3, 4)
        if header + left + trailer <= largest:
            return frames, taken + header + left + trailer
        if sent == 0:
            header += 3
        part = min(largest - header, left - 1)
        if part > 0:
            room, taken, sent = room - header - part, taken + header + part, sent + part
        else:
            frames, room = frames + 1, data


def _of_gse() -> Iterator[Row]:
    for data in (374, 1454, 1991, 6041):
        for size in (40, 100, 1500, 9000):
            for label in (0, 3, 6):
                frames, taken = gse_frames(size, data, label)
                yield Row(
                    "GSE bytes", f"data={data} size={size} label={label} frames={frames}", str(taken), "", "0",
                    "TS 102 606-1 (from memory); SNS3 e543342 satellite-gse-header.cc", "satellite_frames.gse_frames",
                )  # fmt: skip


def rows() -> Iterator[Row]:
    """Yields the table `satellite-frames`."""
    yield from _of_gse()
    for modulation, rates in RATES.items():
        for rate in rates:
            for short in (False, True):
                if short and rate == "9/10":
                    continue
                for pilots in (False, True):
                    at = frame(modulation, rate, short=short, pilots=pilots)
                    where = f"modcod={modulation}-{rate} frame={'short' if short else 'normal'} pilots={'yes' if pilots else 'no'}"
                    yield Row(
                        "S2 efficiency bit/symbol", f"{where} bits={at.bits} symbols={at.symbols}", f"{at.efficiency:.4f}", "",
                        "0.00005", "EN 302 307-1 5.3, 5.5", "satellite_frames.frame",
                    )  # fmt: skip
    for modcod in EN_302_307_2:
        modulation, rate = modcod.split()
        at = frame(modulation, rate, corrected=12)
        yield Row(
            "S2X efficiency bit/symbol", f"modcod={modulation}-{rate} frame=normal pilots=no bits={at.bits} symbols={at.symbols}",
            f"{at.efficiency:.4f}", "", "0.00005", "EN 302 307-2 5.3, 5.5", "satellite_frames.frame",
        )  # fmt: skip
    for waveform, burst in WAVEFORM_BYTES.items():
        for size in (40, 100, 576, 1500):
            for overhead in (0, 3, 12):
                yield Row(
                    "RLE bursts", f"waveform={waveform} burst={burst} size={size} alpdu-overhead={overhead}",
                    str(rle_bursts(size, burst, overhead)), "", "0", "SNS3 e543342 satellite-rle-header.cc", "satellite_frames.rle_bursts",
                )  # fmt: skip


COMMENT: Final = """
Efficiencies (Kbch - 80) / symbols; Kbch follows from the code rate and the BCH code: 64800 r - 16 t and 16200 r - 168.
The number of errors t that the BCH code corrects and the short frames' rates are from memory of EN 302 307-1 tables 5a, 5b.
The 28 efficiencies of table 13 (from memory; public code has several of them, and OpenSAND all to two or three decimals) and
the 38 of S2X in pylink are reproduced. 128APSK fits pylink's values with 103 slots; SNS3 uses 102.
GSE: bytes of one packet that is alone in frames with `data` bytes after the BBHEADER, with its headers and CRC.
RLE: bursts of one packet that is alone; burst payloads of EN 301 545-2 are from memory (each gives OpenSAND's efficiency).
"""
