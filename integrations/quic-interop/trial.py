"""An HTTP/3 server and two clients for testing a path: aioquic, and ngtcp2 as used by curl.

Needs `pip install aioquic curl_cffi`.

trial.py serve             answers GET /BYTES at UDP port 4433 with BYTES bytes
trial.py aioquic HOST BYTES
trial.py ngtcp2 HOST BYTES
"""

import asyncio
import datetime as dt
import ssl
import sys
import tempfile
import time
from pathlib import Path

PORT = 4433


def serve() -> None:
    """Runs the server until it is terminated."""
    from aioquic.asyncio import QuicConnectionProtocol
    from aioquic.asyncio import serve as listen
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration

    class Server(QuicConnectionProtocol):
        http = None

        def quic_event_received(self, event: object) -> None:
            self.http = self.http or H3Connection(self._quic)
            for found in self.http.handle_event(event):
                if isinstance(found, HeadersReceived):
                    size = int(dict(found.headers)[b":path"].lstrip(b"/"))
                    self.http.send_headers(found.stream_id, [(b":status", b"200")])
                    self.http.send_data(found.stream_id, bytes(size), end_stream=True)
            self.transmit()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    with tempfile.TemporaryDirectory() as folder:
        configuration.load_cert_chain(*certificate(Path(folder)))

    async def forever() -> None:
        await listen("::", PORT, configuration=configuration, create_protocol=Server)
        await asyncio.Event().wait()

    asyncio.run(forever())


def certificate(folder: Path) -> tuple[Path, Path]:
    """Writes a self-signed certificate and its key to a folder; returns both files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return public, private


def aioquic(host: str, size: str) -> None:
    """Fetches `size` bytes with aioquic."""
    from aioquic.asyncio import QuicConnectionProtocol, connect
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import DataReceived
    from aioquic.quic.configuration import QuicConfiguration

    class Client(QuicConnectionProtocol):
        def __init__(self, *arguments: object, **more: object) -> None:
            super().__init__(*arguments, **more)
            self.http, self.got = H3Connection(self._quic), 0
            self.done = asyncio.get_running_loop().create_future()

        def quic_event_received(self, event: object) -> None:
            for found in self.http.handle_event(event):
                if isinstance(found, DataReceived):
                    self.got += len(found.data)
                    if found.stream_ended:
                        self.done.set_result(None)

    async def fetch() -> int:
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
        async with connect(host, PORT, configuration=configuration, create_protocol=Client) as client:
            stream = client._quic.get_next_available_stream_id()
            headers = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", host.encode())]
            client.http.send_headers(stream, [*headers, (b":path", f"/{size}".encode())], end_stream=True)
            client.transmit()
            await client.done
            return client.got

    began = time.monotonic()
    got = asyncio.run(fetch())
    tell("aioquic", got, time.monotonic() - began)


def ngtcp2(host: str, size: str) -> None:
    """Fetches `size` bytes with curl, which uses ngtcp2 for QUIC."""
    from curl_cffi import CurlHttpVersion, requests

    began = time.monotonic()
    answer = requests.get(
        f"https://{host}:{PORT}/{size}", verify=False, http_version=CurlHttpVersion.V3ONLY, timeout=120
    )
    tell("ngtcp2", len(answer.content), time.monotonic() - began)


def tell(client: str, got: int, seconds: float) -> None:
    """Prints the amount of data, the duration and the rate."""
    sys.stdout.write(f"{client}: {got} bytes in {seconds:.3f} s, {8 * got / seconds / 1e6:.2f} Mbit/s\n")


if __name__ == "__main__":
    {"serve": serve, "aioquic": aioquic, "ngtcp2": ngtcp2}[sys.argv[1]](*sys.argv[2:])
