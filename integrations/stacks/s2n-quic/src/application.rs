//! The application above a connection: concurrent streams, or requests one after another.

use crate::endpoint::address;
use crate::observed::{Observed, Shared};
use crate::SERVER_NAME;
use bytes::Bytes;
use longpipe_end::adapter::{Settings, WebRequest, Workload};
use longpipe_end::Role;
use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::stream::{BidirectionalStream, ReceiveStream, SendStream};
use s2n_quic::{Client, Connection, Server};
use std::future::{pending, poll_fn, Future};
use std::pin::Pin;
use std::task::{Context, Poll};

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
        if let Workload::Requests { count, request } = settings.workload {
            for _ in 0..count {
                let from = observed.with(|seen| seen.now_ps);
                let (mut receives, mut sends) = connection.open_bidirectional_stream().await?.split();
                send(&mut sends, request).await?;
                sends.finish()?;
                receive(&mut receives, &observed, settings.role).await?;
                observed.with(|seen| seen.on_response(from));
            }
            observed.with(|seen| seen.completed_ps = Some(seen.now_ps));
        } else if let Workload::Web { .. } = settings.workload {
            let mut exchanges = Vec::new();
            while let Some((_, request)) = observed.with(|seen| seen.web.next(u64::MAX)) {
                exchanges.push(request_file(connection.handle(), observed.clone(), request));
            }
            all(exchanges).await?;
            observed.with(|seen| seen.completed_ps = Some(seen.now_ps));
        } else {
            let mut streams = Vec::new();
            for index in 0..settings.workload.streams() {
                let stream = connection.open_send_stream().await?;
                streams.push(send_all(stream, settings.workload.share(settings.size, index)));
            }
            all(streams).await?;
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
        if let Workload::Requests { count, .. } = settings.workload {
            for _ in 0..count {
                let Some(stream) = connection.accept_bidirectional_stream().await? else {
                    break;
                };
                let (mut receives, mut sends) = stream.split();
                receive(&mut receives, &observed, settings.role).await?;
                send(&mut sends, settings.size).await?;
                sends.finish()?;
            }
        } else if let Workload::Web { count } = settings.workload {
            answer_all(&mut connection, &observed, count).await?;
        } else {
            receive_all(&mut connection, &observed, &settings).await?;
            observed.with(|seen| seen.completed_ps = Some(seen.now_ps));
        }
        observed.with(|seen| seen.done = true);
        pending::<Done<()>>().await
    };
    conclude(done.await, &observed);
}

/// Sends a stream and ends it.
async fn send_all(mut stream: SendStream, size: u64) -> Done<()> {
    send(&mut stream, size).await?;
    stream.finish()?;
    Ok(())
}

/// Receives the streams of the transfer, which the peer opens at any time.
async fn receive_all(connection: &mut Connection, observed: &Shared, settings: &Settings) -> Done<()> {
    let mut streams: Vec<Pin<Box<dyn Future<Output = Done<()>> + Send>>> = Vec::new();
    let mut accepted = 0;
    poll_fn(|context| {
        while accepted < settings.workload.streams() {
            let Poll::Ready(stream) = connection.poll_accept_receive_stream(context)? else {
                break;
            };
            let Some(mut stream) = stream else {
                return Poll::Ready(Err("the peer closed the connection".into()));
            };
            accepted += 1;
            let (role, observed) = (settings.role, observed.clone());
            streams.push(Box::pin(async move {
                receive(&mut stream, &observed, role).await?;
                observed.with(Observed::on_stream);
                Ok(())
            }));
        }
        let more = poll_all(&mut streams, context)?;
        if more || accepted < settings.workload.streams() {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    })
    .await
}

/// Waits until `at` [ps].
async fn wait_until(at: u64, observed: &Shared) {
    poll_fn(|_| {
        observed.with(|seen| {
            if seen.now_ps >= at {
                return Poll::Ready(());
            }
            seen.timer_ps = seen.timer_ps.min(at);
            Poll::Pending
        })
    })
    .await;
}

/// Returns the number of the request that a stream carries.
fn number_of(stream: &BidirectionalStream) -> usize {
    (stream.id() / 4) as usize
}

/// Sends a request of a web client when it is due, and receives its response.
async fn request_file(mut connection: Handle, observed: Shared, request: WebRequest) -> Done<()> {
    wait_until(request.at_ps, &observed).await;
    let stream = connection.open_bidirectional_stream().await?;
    let number = number_of(&stream);
    let (mut receives, mut sends) = stream.split();
    send(&mut sends, request.request_bytes).await?;
    sends.finish()?;
    receive(&mut receives, &observed, Role::Receiver).await?;
    observed.with(|seen| seen.web.receive(number, seen.now_ps));
    Ok(())
}

/// Receives a request of a web client, and sends its response.
async fn answer(stream: BidirectionalStream, observed: Shared) -> Done<()> {
    let number = number_of(&stream);
    let (mut receives, mut sends) = stream.split();
    receive(&mut receives, &observed, Role::Sender).await?;
    let request = observed.with(|seen| {
        seen.web.receive(number, seen.now_ps);
        seen.web.request(number)
    });
    send(&mut sends, request.ok_or("an unknown request")?.response_bytes).await?;
    sends.finish()?;
    Ok(())
}

/// Answers the requests of a web client, which come at any time.
async fn answer_all(connection: &mut Connection, observed: &Shared, count: u64) -> Done<()> {
    let mut answers: Vec<Pin<Box<dyn Future<Output = Done<()>> + Send>>> = Vec::new();
    let mut accepted = 0;
    poll_fn(|context| {
        while accepted < count {
            let Poll::Ready(stream) = connection.poll_accept_bidirectional_stream(context)? else {
                break;
            };
            let Some(stream) = stream else {
                return Poll::Ready(Err("the peer closed the connection".into()));
            };
            accepted += 1;
            answers.push(Box::pin(answer(stream, observed.clone())));
        }
        let more = poll_all(&mut answers, context)?;
        if more || accepted < count {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    })
    .await
}

/// Runs concurrent work to its end.
async fn all(works: Vec<impl Future<Output = Done<()>> + Send>) -> Done<()> {
    let mut works: Vec<_> = works.into_iter().map(Box::pin).collect();
    poll_fn(|context| match poll_all(&mut works, context) {
        Ok(true) => Poll::Pending,
        done => Poll::Ready(done.map(|_| ())),
    })
    .await
}

/// Advances concurrent work, and removes what has ended. Returns whether there is more.
fn poll_all<F: Future<Output = Done<()>> + ?Sized>(
    works: &mut Vec<Pin<Box<F>>>,
    context: &mut Context<'_>,
) -> Done<bool> {
    let mut failed = None;
    works.retain_mut(|work| match work.as_mut().poll(context) {
        Poll::Pending => true,
        Poll::Ready(Ok(())) => false,
        Poll::Ready(Err(error)) => {
            failed = Some(error);
            false
        }
    });
    failed.map_or(Ok(!works.is_empty()), Err)
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
