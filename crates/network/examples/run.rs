//! Runs a resolved scenario without Python: `run FILE [SEED [TIMES]]` prints the delivered data, the number of events
//! and the state hash.

use longpipe_network::{Scenario, Simulation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("needs the file of a resolved scenario")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let times = arguments.next().map_or(Ok(1), |times| times.parse::<u32>())?;
    let scenario = Scenario::from_json(&std::fs::read_to_string(file)?)?;
    for _ in 0..times {
        let mut simulation = Simulation::new(&scenario, seed)?;
        let began = std::time::Instant::now();
        simulation.run();
        let seconds = began.elapsed().as_secs_f64();
        let report = simulation.report()?;
        let flows = scenario.flows.iter().zip(&report.flows);
        let packets: u64 = flows
            .map(|(flow, done)| done.delivered_bytes / u64::from(flow.tcp.mss_bytes))
            .sum();
        println!(
            "{packets} packets, {seconds:.4} s, {} events, {:016x}",
            report.events, report.state_hash
        );
    }
    Ok(())
}
