//! Links that react to traffic.

use crate::Book;
use longpipe_network::scenario::access::{AccessConfig, DocsisConfig};
use longpipe_network::scenario::Engine;

pub fn add_all(book: &mut Book) {
    // A sender whose first packets arrive together at its modem, at the start of a frame.
    let base = book
        .entries
        .iter()
        .find(|entry| entry.name == "relay/rack/greedy/60/ip");
    let mut scenario = base.expect("an entry of proxies").scenario(Engine::Trains);
    let us = 1_000_000;
    scenario.links[0].access = Some(Box::new(AccessConfig::Docsis(DocsisConfig {
        cell: None,
        map_interval_ps: 2000 * us,
        frame_ps: 135 * us,
        frame_symbols: 6,
        minislot_bytes: 60,
        processing_ps: 200 * us,
        downstream_ps: 112 * us,
        mac_header_bytes: 10,
        max_rate_bps: None,
        max_burst_bytes: 3044,
        peak_rate_bps: None,
        proactive_rate_bps: 4_000_000,
        proactive_interval_ps: Some(135 * us),
        free_share: 1.0,
        free_variation: 0.0,
    })));
    book.add("access/docsis/proactive", &scenario);
}
