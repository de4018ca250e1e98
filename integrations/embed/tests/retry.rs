//! A client repeats a request over a lossy GEO path until it is answered. Tokio's clock is paused, so the test takes
//! milliseconds, and longpipe decides when each packet arrives, or that it is lost.

use longpipe_path::store::Store;
use longpipe_path::{Arrival, Fate, Path, Scenario, Time};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout, Instant};

struct Network {
    path: Mutex<(Path, Store)>,
    began: Instant,
    inboxes: [UnboundedSender<Vec<u8>>; 2],
    entered: Notify,
}

impl Network {
    /// Sends a UDP datagram from host 0 or 1 to the other one.
    fn send(&self, from: usize, payload: &[u8]) {
        let (path, store) = &mut *self.path.lock().unwrap();
        let at = Time(self.began.elapsed().as_nanos() as u64 * 1000);
        let bytes = payload.len() as u16 + 28;
        path.enter(Arrival { at, circuit: from as u32, bytes, capable: false, scalable: false, marked: false });
        store.put(1 - from, payload, 0);
        self.entered.notify_one();
    }

    /// Delivers datagrams when they are due.
    async fn run(&self) {
        loop {
            let due = self.path.lock().unwrap().0.next_due();
            tokio::select! {
                () = sleep_until(self.began + Duration::from_nanos(due.0.div_ceil(1000))) => {}
                () = self.entered.notified() => continue,
            }
            let (path, store) = &mut *self.path.lock().unwrap();
            for outcome in path.advance_to(due) {
                let datagram = store.take(outcome.id).unwrap();
                if let Fate::Delivered { .. } = outcome.fate {
                    self.inboxes[datagram.to].send(datagram.packet).unwrap();
                }
            }
        }
    }
}

fn network(seed: u64) -> (Arc<Network>, [UnboundedReceiver<Vec<u8>>; 2]) {
    let scenario = Scenario::from_json(include_str!("path.json")).unwrap();
    let path = Mutex::new((Path::new(&scenario, seed).unwrap(), Store::default()));
    let ((to_client, client), (to_server, server)) = (unbounded_channel(), unbounded_channel());
    let inboxes = [to_client, to_server];
    let network = Arc::new(Network { path, began: Instant::now(), inboxes, entered: Notify::new() });
    tokio::spawn({ let network = network.clone(); async move { network.run().await } });
    (network, [client, server])
}

/// Returns the number of requests until an answer arrived, and the time that this took.
async fn retries(seed: u64) -> (u32, Duration) {
    let (network, [mut client, mut server]) = network(seed);
    let other = network.clone();
    tokio::spawn(async move { while server.recv().await.is_some() { other.send(1, b"answer") } });
    for requests in 1.. {
        network.send(0, b"request");
        if timeout(Duration::from_secs(1), client.recv()).await.is_ok() {
            return (requests, network.began.elapsed());
        }
    }
    unreachable!()
}

#[tokio::test(start_paused = true)]
async fn request_is_repeated_until_answered() {
    for seed in 0..100 {
        let (requests, took) = retries(seed).await;
        // Each loss costs a second; an answer takes a round trip of 560 ms, at Tokio's resolution of 1 ms.
        let last = took - Duration::from_secs(u64::from(requests) - 1);
        assert!((560..570).contains(&last.as_millis()), "{last:?}");
    }
    assert_eq!(retries(7).await, retries(7).await);
}
