//! Sends data with quinn over UDP sockets, in real time: the counterpart of the flows of `stack = "quinn"`, with the
//! same configuration of the stack. `longpipe validate stacks-live` compares the two.
//!
//! `quinn-transfer receive PORT` accepts one connection and reads one stream. `quinn-transfer send HOST:PORT
//! size=BYTES` connects, sends one stream of zeros, and prints its counters as JSON.

#[path = "../../src/certificate.rs"]
mod certificate;
#[path = "../../src/quinn_controls.rs"]
mod controls;
mod settings;
#[path = "../../src/quic/transport.rs"]
mod transport;

use quinn as proto;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use settings::Settings;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Source of the data.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match work(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("quinn-transfer: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn work(arguments: &[String]) -> Result<(), String> {
    let [verb, place, given @ ..] = arguments else {
        return Err("needs `receive PORT` or `send HOST:PORT size=BYTES`".to_owned());
    };
    let settings = Settings::read(given)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    match verb.as_str() {
        "receive" => runtime.block_on(receive(place, &settings)),
        "send" => runtime.block_on(send(place, &settings)),
        other => Err(format!("{other}: needs receive or send")),
    }
}

/// Accepts one connection and reads its stream. Then closes the connection with the time of the stream's end as reason.
async fn receive(port: &str, settings: &Settings<'_>) -> Result<(), String> {
    let number = port.parse().ok().filter(|&number: &u16| number > 0);
    let port = number.ok_or_else(|| format!("port: {port}; needs 1 to 65535"))?;
    let chain = vec![certificate::certificate()];
    let server = ServerConfig::with_single_cert(chain, certificate::key());
    let mut server = server.map_err(|error| error.to_string())?;
    server.transport_config(settings.transport()?);
    let endpoint = endpoint(port, settings, Some(server))?;
    let incoming = endpoint.accept().await.ok_or("no connection")?;
    let connection = incoming.await.map_err(|error| error.to_string())?;
    // The sender reports why a connection ended before the stream did.
    if let Some(ended_ns) = read(&connection).await {
        connection.close(0u32.into(), ended_ns.to_string().as_bytes());
    }
    endpoint.wait_idle().await;
    Ok(())
}

/// Reads a stream to its end. Returns the time of the end [ns]; None if the connection ends before.
async fn read(connection: &Connection) -> Option<u128> {
    let mut stream = connection.accept_uni().await.ok()?;
    while stream.read_chunk(usize::MAX, true).await.ok()?.is_some() {}
    Some(now_ns())
}

/// Connects, sends one stream, waits until the receiver closes the connection, and prints the result.
async fn send(to: &str, settings: &Settings<'_>) -> Result<(), String> {
    let unknown = || format!("receiver: {to}; needs HOST:PORT");
    let to = to.to_socket_addrs().map_err(|_| unknown())?.find(SocketAddr::is_ipv4);
    let to = to.ok_or_else(unknown)?;
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(certificate::certificate())
        .map_err(|error| error.to_string())?;
    let client = ClientConfig::with_root_certificates(Arc::new(roots));
    let mut client = client.map_err(|error| error.to_string())?;
    client.transport_config(settings.transport()?);
    let endpoint = endpoint(0, settings, None)?;
    let began_ns = now_ns();
    let connecting = endpoint.connect_with(client, to, certificate::NAME);
    let connecting = connecting.map_err(|error| error.to_string())?;
    let connection = connecting.await.map_err(|error| error.to_string())?;
    write(&connection, settings.size).await;
    let (ended_ns, closed) = match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => {
            let text = String::from_utf8_lossy(&close.reason).into_owned();
            (text.parse::<u128>().ok(), text)
        }
        other => (None, other.to_string()),
    };
    let stats = connection.stats();
    let seconds = ended_ns.map_or("null".to_owned(), |end| {
        format!("{:.9}", end.saturating_sub(began_ns) as f64 / 1e9)
    });
    println!(
        "{{\"seconds\": {seconds}, \"sent_packets\": {}, \"lost_packets\": {}, \"congestion_events\": {}, \
         \"mtu_bytes\": {}, \"closed\": {:?}}}",
        stats.path.sent_packets,
        stats.path.lost_packets,
        stats.path.congestion_events,
        stats.path.current_mtu,
        if ended_ns.is_some() { "" } else { &closed },
    );
    Ok(())
}

/// Writes a stream. Errors are ignored, because `closed` reports why a connection ended.
async fn write(connection: &Connection, size: u64) {
    let Ok(mut stream) = connection.open_uni().await else {
        return;
    };
    let mut left = size;
    while left > 0 {
        let chunk = ZEROS.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match stream.write(&ZEROS[..chunk]).await {
            Ok(written) => left -= written as u64,
            Err(_) => return,
        }
    }
    let _ = stream.finish();
}

/// Opens a socket.
fn endpoint(port: u16, settings: &Settings<'_>, server: Option<ServerConfig>) -> Result<Endpoint, String> {
    let message = |error: std::io::Error| error.to_string();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(message)?;
    let mut config = EndpointConfig::default();
    config
        .max_udp_payload_size(settings.most_bytes)
        .map_err(|error| error.to_string())?;
    Endpoint::new(config, server, socket, Arc::new(TokioRuntime)).map_err(message)
}

/// Returns the system's time [ns]. Both programs run on one machine.
fn now_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos())
}
