from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpipe.units import BUFFER, RATE, SEGMENTS, SIZE, TICKS, TIME, Dimension


@pytest.mark.parametrize(
    ("dimension", "text", "value"),
    [
        (TIME, "5 us", 5_000_000),
        (TIME, "5 µs", 5_000_000),
        (TIME, "0.5 ns", 500),
        (TIME, "1e-3 s", 10**9),
        (TIME, "1.5 min", 90 * 10**12),
        (TIME, "4 days", 96 * 3600 * 10**12),
        (RATE, "155.52 Mbit/s", 155_520_000),
        (RATE, "149.76Mbit/s", 149_760_000),
        (RATE, "10 Mbps", 10_000_000),
        (RATE, "10Mb/s", 10_000_000),
        (RATE, "2 kbps", 2_000),
        (TIME, "48 msec", 48 * 10**9),
        (TIME, "48 sec", 48 * 10**12),
        # Notations of tc(8), ns-3's DataRate and iperf.
        (RATE, "100mbit", 100_000_000),
        (RATE, "1Gbps", 10**9),
        (RATE, "10M", 10_000_000),
        (RATE, "10K", 10_000),
        (RATE, "2.5gbit", 2_500_000_000),
        (RATE, "10Kib/s", 10_240),
        (RATE, "1 mibit", 1_048_576),
        # A capital B means bytes.
        (RATE, "10 MB/s", 80_000_000),
        (RATE, "10 MBps", 80_000_000),
        (RATE, "1 KiB/s", 8_192),
        (RATE, "1.5 kB/s", 12_000),
        (RATE, "125 B/s", 1_000),
        (RATE, "10 MByte/s", 80_000_000),
        # iperf prints rates in these forms.
        (RATE, "10 Mbits/sec", 10_000_000),
        (RATE, "10 Kbits/sec", 10_000),
        (RATE, "10 MBytes/sec", 80_000_000),
        (RATE, "10 KBytes/sec", 80_000),
        (TIME, "10usecs", 10_000_000),
        (TIME, "2 minutes", 120 * 10**12),
        (SIZE, "10 Mbit", 1_250_000),
        (SIZE, "16 bit", 2),
        (SIZE, "64 KB", 64_000),
        (SIZE, "64 KiB", 65_536),
        (SIZE, "600000 B", 600_000),
        (SEGMENTS, "1 segment", 1),
        (TICKS, "2 ticks", 2),
        (TIME, ".5 ms", 500_000_000),
        (RATE, ".25 Mbit/s", 250_000),
        (SIZE, ".5 KB", 500),
    ],
)
def test_a_quantity_is_a_whole_number_of_base_units(dimension: Dimension, text: str, value: int) -> None:
    assert dimension.parse(text) == value


RATES = "accepts bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, as in '155.52 Mbit/s'"
SIZES = "accepts B, KB, KiB, MB, MiB, GB, GiB, as in '64 KiB'"


@pytest.mark.parametrize(
    ("dimension", "text", "message"),
    [
        (TIME, "10", "'10' has no unit; accepts ps, ns, us, ms, s, min, h, as in '5 ms'"),
        (TIME, "", "''; accepts ps, ns, us, ms, s, min, h, as in '5 ms'"),
        (TIME, "5 KB", "'5 KB' is not a time; accepts ps, ns, us, ms, s, min, h, as in '5 ms'"),
        (BUFFER, "1e-30 BDP", "'1e-30 BDP'; needs a number of at most 24 decimals"),
        (RATE, "1e-22 Mibit/s", "'1e-22 Mibit/s'; needs a number of at most 24 decimals"),
        (TIME, "0.5 ps", "'0.5 ps'; needs a whole number of ps"),
        (RATE, "nan", "'nan'; accepts bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, as in '155.52 Mbit/s'"),
        (SIZE, "1,000 B", "'1,000 B' is not a number of bytes; accepts B, KB, KiB, MB, MiB, GB, GiB, as in '64 KiB'"),
        (RATE, "10 mbps", f"'10 mbps' is not a bit rate, it may be 'MB/s' or 'Mbit/s'; {RATES}"),
        (RATE, "10 mb/s", f"'10 mb/s' is not a bit rate, it may be 'MB/s' or 'Mbit/s'; {RATES}"),
        (RATE, "10 GBIT/S", f"'10 GBIT/S' is not a bit rate, it is 'Gbit/s' here; {RATES}"),
        (RATE, "10 mbyte/s", f"'10 mbyte/s' is not a bit rate, it is 'MB/s' here; {RATES}"),
        (RATE, "10 mib/s", f"'10 mib/s' is not a bit rate, it may be 'MiB/s' or 'Mibit/s'; {RATES}"),
        (SIZE, "10 Mb", f"'10 Mb' is not a number of bytes, it may be 'MB' or 'Mbit'; {SIZES}"),
        (SIZE, "64 kb", f"'64 kb' is not a number of bytes, it may be 'KB' or 'kbit'; {SIZES}"),
        (SIZE, "1460b", f"'1460b' is not a number of bytes, it may be 'B' or 'bit'; {SIZES}"),
        (SIZE, "64 mib", f"'64 mib' is not a number of bytes, it may be 'MiB' or 'Mbit'; {SIZES}"),
        (SEGMENTS, "1 cell", "'1 cell' is not a number of segments; accepts segments, as in '1 segment'"),
    ],
)
def test_invalid_quantity_is_rejected_with_accepted_units(dimension: Dimension, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^'") as error:
        dimension.parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("dimension", "value", "text"),
    [
        (TIME, 5_000_000, "5 us"),
        (TIME, 90 * 10**12, "90 s"),
        (RATE, 155_520_000, "155.52 Mbit/s"),
        (SIZE, 65_536, "64 KiB"),
        (SIZE, 600_000, "600 KB"),
        (SIZE, 0, "0 B"),
        (TICKS, 1, "1 tick"),
    ],
)
def test_a_value_is_written_in_its_shortest_exact_form(dimension: Dimension, value: int, text: str) -> None:
    assert dimension.format(value) == text


@pytest.mark.parametrize(
    ("dimension", "text", "canonical"),
    [
        (RATE, "10 MB/s", "80 Mbit/s"),
        (RATE, "1KiBps", "8.192 kbit/s"),
        (SIZE, "1 Mbit", "0.125 MB"),
        (BUFFER, "8 kbit", "1 KB"),
    ],
)
def test_unit_aliases_are_written_in_a_standard_unit(dimension: Dimension, text: str, canonical: str) -> None:
    assert dimension.canonical(text) == canonical


@given(
    st.sampled_from([TIME, RATE, SIZE]).flatmap(
        lambda dimension: st.tuples(st.just(dimension), st.sampled_from(sorted(dimension.units)))
    ),
    st.integers(0, 10**24 - 1),
    st.integers(0, 10**24 - 1),
    st.integers(-30, 30),
)
def test_quantities_equal_exact_arithmetic(of: tuple[Dimension, str], whole: int, decimals: int, exponent: int) -> None:
    dimension, unit = of
    number = f"{whole}.{decimals:024d}e{exponent}"
    text, exact = f"{number} {unit}", Fraction(number)
    value, nearest = exact * dimension.units[unit], round(exact * dimension.units[unit])
    if 10**24 % exact.denominator:
        with pytest.raises(ValueError, match="needs a number of at most 24 decimals"):
            dimension.parse(text)
    elif value == nearest:
        assert dimension.parse(text) == nearest
        assert dimension.split(text) == (exact, unit)
    elif abs(value - nearest) * 2**51 <= value and 10**24 % (nearest / dimension.units[unit]).denominator == 0:
        assert dimension.parse(text) == nearest
    else:
        with pytest.raises(ValueError, match=f"needs a whole number of {dimension.base}"):
            dimension.parse(text)


@given(st.sampled_from([TIME, RATE, SIZE]), st.integers(-(10**20), 10**20))
def test_written_quantities_are_read_back_exactly(dimension: Dimension, value: int) -> None:
    assert dimension.parse(dimension.format(value)) == value


# Every field's range excludes larger numbers, of which a canonical text may have more digits than are read.
@given(
    st.integers(0, 10**22),
    st.integers(-99, 0),
    st.sampled_from(["BDP", "s", "Mibit/s", "MB/s", "Kbit", "packets"]),
)
def test_number_with_an_exponent_is_read_back(digits: int, exponent: int, unit: str) -> None:
    for dimension in (RATE, SIZE, BUFFER):
        try:
            canonical = dimension.canonical(f"{digits}e{exponent} {unit}")
        except ValueError:
            continue
        assert dimension.canonical(canonical) == canonical


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_raises_value_error(text: str) -> None:
    for dimension in (TIME, RATE, SIZE, BUFFER):
        try:
            canonical = dimension.canonical(text)
        except ValueError:
            continue
        assert dimension.split(canonical) == dimension.split(text)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_computed_time_has_no_error_of_a_float(one: int, other: int) -> None:
    text = f"{one / 1000 + other / 1000} ms"
    assert TIME.parse(text) == (one + other) * 10**6
    assert TIME.parse(TIME.canonical(text)) == TIME.parse(text)


def test_only_the_last_digits_of_a_float_are_rounded() -> None:
    assert TIME.canonical(f"{12.36 - 0.00112} ms") == "12.35888 ms"
    for text in ("1.5 ps", "0.0000000000001 s", "0.33333333333333333 min"):
        with pytest.raises(ValueError, match="needs a whole number of ps"):
            TIME.parse(text)
