//! The application above a connection: a transfer, or requests one after another.

use crate::endpoint::address;
use crate::observed::Shared;
use crate::SERVER_NAME;
use bytes::Bytes;
use longpipe_end::adapter::Settings;
use longpipe_end::Role;
use s2n_quic::client::Connect;
use s2n_quic::stream::{ReceiveStream, SendStream};
use s2n_quic::{Client, Connection, Server};
use std::future::{pending, Future};

/// An application, which runs until the connection fails or the run ends.
pub type Work = dyn Future<Output = ()> + Send;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Amount of data that is passed to a stream at once [byte].
const CHUNK_BYTES: usize = 1 << 16;

static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// Runs the application of the end that opens the connection.
pub async fn run_client(client: Client, observed: Shared, settings: Settings) {
    let server = std::net::SocketAddr::from(address(false));
    let attempt = client.connect(Connect::new(server).with_server_name(SERVER_NAME));
    let done = async {
        let mut connection = attempt.await?;
        observed.with(|seen| seen.handshake_ps = Some(seen.now_ps));
        if settings.requests {
            for _ in 0..settings.count {
                let from = observed.with(|seen| seen.now_ps);
                let (mut receives, mut sends) = connection.open_bidirectional_stream().await?.split();
                send(&mut sends, settings.request).await?;
                sends.finish()?;
                receive(&mut receives, &observed, settings.role).await?;
                observed.with(|seen| seen.on_response(from));
            }
            observed.with(|seen| seen.completed_ps = Some(seen.now_ps));
        } else {
            let mut stream = connection.open_send_stream().await?;
            send(&mut stream, settings.size).await?;
            stream.finish()?;
        }
        observed.with(|seen| seen.done = true);
        // Dropping the connection would close it.
        pending::<Done<()>>().await
    };
    conclude(done.await, &observed);
}

/// Runs the application of the end that accepts the connection.
pub async fn run_server(mut server: Server, observed: Shared, settings: Settings) {
    let done = async {
        let mut connection: Connection = server.accept().await.ok_or("no connection")?;
        observed.with(|seen| seen.handshake_ps = Some(seen.now_ps));
        if settings.requests {
            for _ in 0..settings.count {
                let Some(stream) = connection.accept_bidirectional_stream().await? else {
                    break;
                };
                let (mut receives, mut sends) = stream.split();
                receive(&mut receives, &observed, settings.role).await?;
                send(&mut sends, settings.size).await?;
                sends.finish()?;
            }
        } else if let Some(mut stream) = connection.accept_receive_stream().await? {
            receive(&mut stream, &observed, settings.role).await?;
            observed.with(|seen| seen.completed_ps = Some(seen.now_ps));
        }
        observed.with(|seen| seen.done = true);
        pending::<Done<()>>().await
    };
    conclude(done.await, &observed);
}

/// Records the failure of a connection whose application had not finished.
fn conclude(done: Done<()>, observed: &Shared) {
    if let Err(error) = done {
        observed.with(|seen| seen.closed = Some((seen.now_ps, error.to_string())));
    }
}

async fn send(stream: &mut SendStream, size: u64) -> Done<()> {
    let mut left = size;
    while left > 0 {
        let chunk = left.min(CHUNK_BYTES as u64);
        stream.send(Bytes::from_static(&ZEROS[..chunk as usize])).await?;
        left -= if size == u64::MAX { 0 } else { chunk };
    }
    Ok(())
}

/// Reads a stream to its end, and counts the flow's data.
async fn receive(stream: &mut ReceiveStream, observed: &Shared, role: Role) -> Done<()> {
    while let Some(data) = stream.receive().await? {
        if role == Role::Receiver {
            observed.with(|seen| seen.delivered += data.len() as u64);
        }
    }
    Ok(())
}
