"""Prepares the files of which picoquic.c becomes an object: python picoquic.py FOLDER CERTIFICATES.

picoquic and OpenSSL come from a wheel, aiopquic, whose extension module exports picoquic's functions. Only its shared
objects are used: neither the version of Python for which it was built nor its Python code is needed.
"""

import base64
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

WHEEL: Final = "aiopquic==0.6.1"
# Beginning of the path in the wheel, by the name of each file.
MEMBERS: Final = {
    "transport.so": "aiopquic/_binding/_transport.cpython-",
    "libcrypto.so": "aiopquic.libs/libcrypto-",
    "libssl.so": "aiopquic.libs/libssl-",
}


def main(folder: Path, certificates: Path) -> None:
    """Downloads the wheel, and writes its objects and the certificate of the other stacks to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        words += ["--dest", place, "--python-version", "3.12", "--only-binary=:all:", WHEEL]
        if subprocess.run(words, check=False).returncode:  # noqa: S603 - constant
            sys.exit(
                f"stacks-picoquic: not built; needs the wheel {WHEEL}, which exists for Linux on x86-64 (glibc 2.34)"
            )
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name, begin in MEMBERS.items():
                (member,) = (path for path in archive.namelist() if path.startswith(begin))
                (folder / name).write_bytes(archive.read(member))
    for source, target, kind in (
        ("certificate.der", "certificate.pem", "CERTIFICATE"),
        ("key.der", "key.pem", "PRIVATE KEY"),
    ):
        text = base64.encodebytes((certificates / source).read_bytes()).decode()
        (folder / target).write_text(f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
