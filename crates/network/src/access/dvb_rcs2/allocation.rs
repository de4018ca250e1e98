//! The network control center (NCC): divides the bursts of each superframe among the terminals of a beam, in this order:
//! constant rates, requested rates, requested volumes, and free capacity.

use super::requests::Request;
use longpipe_events::{Time, PS_PER_SECOND};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// A burst in the unit of credits.
const BURST: u128 = 1 << 32;
/// Levels of requests, by which credits are indexed.
const RATES: usize = 0;
const VOLUMES: usize = 1;
const PS: u128 = PS_PER_SECOND as u128;

/// How the NCC divides capacity that does not suffice, and how long it keeps requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    /// Superframes for which a rate is granted.
    pub rate_persistence: u64,
    /// Superframes after which a volume expires unless the terminal requests more; None if it never does.
    pub volume_persistence: Option<u64>,
    /// Whether the largest volumes are granted first and completely (OpenSAND), instead of in proportion.
    pub largest_volume_first: bool,
}

/// The latest rate that a terminal has requested.
#[derive(Clone, Copy, Debug, Default)]
struct RequestedRate {
    kbps: u64,
    /// Superframes for which the rate is still granted.
    superframes: u64,
}

/// The volume that a terminal has requested and that has not been granted.
#[derive(Clone, Copy, Debug, Default)]
struct RequestedVolume {
    bytes: u64,
    /// Superframes since the last request.
    age: u64,
}

/// A terminal as the NCC knows it.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// Bursts of each superframe that are granted without a request.
    pub constant_bursts: u64,
    /// Maximum number of bursts of free capacity in a superframe.
    pub free_bursts: u64,
    /// Maximum rate [kbit/s] of requests.
    pub max_kbps: u64,
    /// Maximum backlog [byte] of volume requests.
    pub max_bytes: u64,
    /// Requests that have not been processed, with the times at which they reach the NCC, in order.
    inbox: VecDeque<(Time, Request)>,
    /// Requests that have been processed.
    processed: u64,
    rate: RequestedRate,
    volume: RequestedVolume,
    /// Fractions of bursts that were not granted, by level.
    credits: [u128; 2],
}

impl Account {
    /// Creates the account of a terminal without requests.
    pub fn new(constant_bursts: u64, free_bursts: u64, (max_kbps, max_bytes): (u64, u64)) -> Account {
        Account {
            constant_bursts,
            free_bursts,
            max_kbps,
            max_bytes,
            inbox: VecDeque::new(),
            processed: 0,
            rate: RequestedRate::default(),
            volume: RequestedVolume::default(),
            credits: [0; 2],
        }
    }

    /// Returns the number of requests that the NCC has received, or will receive.
    pub fn received(&self) -> u64 {
        self.processed + self.inbox.len() as u64
    }
}

/// Capacity of a superframe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// Bursts of one carrier, of which a terminal uses one at a time.
    pub bursts: u64,
    /// Carriers.
    pub carriers: u64,
    /// Bytes of a burst.
    pub burst_bytes: u64,
    /// Duration [ps] of the superframe.
    pub superframe_ps: u64,
}

/// The NCC.
#[derive(Clone, Debug)]
pub(super) struct Ncc {
    capacity: Capacity,
    division: Division,
    pub accounts: Vec<Account>,
}

impl Ncc {
    /// Creates the NCC of idle terminals.
    pub fn new(capacity: Capacity, division: Division, accounts: Vec<Account>) -> Ncc {
        Ncc {
            capacity,
            division,
            accounts,
        }
    }

    /// Records a request that reaches the NCC at a time, after all earlier requests of the terminal.
    pub fn receive(&mut self, terminal: usize, at: Time, request: Request) {
        self.accounts[terminal].inbox.push_back((at, request));
    }

    /// Returns whether requests are pending or in effect.
    pub fn is_active(&self) -> bool {
        let is_active =
            |account: &Account| !account.inbox.is_empty() || account.rate.superframes > 0 || account.volume.bytes > 0;
        self.accounts.iter().any(is_active)
    }

    /// Returns whether any terminal may use free capacity.
    pub fn has_free_capacity(&self) -> bool {
        self.accounts.iter().any(|account| account.free_bursts > 0)
    }

    /// Returns the bursts that each terminal gets in a superframe without requests: constant rates and free capacity.
    pub fn idle_plan(&self, superframe: u64) -> Vec<u64> {
        let mut granted: Vec<u64> = self.accounts.iter().map(|account| account.constant_bursts).collect();
        self.grant_free(superframe, &mut granted);
        granted
    }

    /// Decides at `now` on the plan of a superframe: returns the number of bursts of each terminal.
    pub fn plan(&mut self, now: Time, superframe: u64) -> Vec<u64> {
        self.process_requests(now);
        let Capacity {
            bursts, burst_bytes, ..
        } = self.capacity;
        let mut granted: Vec<u64> = self.accounts.iter().map(|account| account.constant_bursts).collect();
        let in_bursts = |bytes: u64| bytes.div_ceil(burst_bytes);
        // A kbit/s is 125 byte/s.
        let rate_bytes = |kbps: u64| (u128::from(125 * kbps) * u128::from(self.capacity.superframe_ps)).div_ceil(PS);
        let rate_bursts = |account: &Account| match account.rate.superframes {
            0 => 0,
            1.. => in_bursts(rate_bytes(account.rate.kbps) as u64),
        };
        let rates: Vec<u64> = self.accounts.iter().map(rate_bursts).collect();
        self.grant(RATES, &rates, &mut granted);
        let volumes: Vec<u64> = self
            .accounts
            .iter()
            .map(|account| in_bursts(account.volume.bytes))
            .collect();
        let before = granted.clone();
        match self.division.largest_volume_first {
            true => self.grant_largest_first(&volumes, &mut granted),
            false => self.grant(VOLUMES, &volumes, &mut granted),
        }
        for (account, (after, before)) in self.accounts.iter_mut().zip(granted.iter().zip(&before)) {
            account.volume.bytes = account.volume.bytes.saturating_sub((after - before) * burst_bytes);
            account.rate.superframes = account.rate.superframes.saturating_sub(1);
        }
        self.grant_free(superframe, &mut granted);
        debug_assert!(granted.iter().all(|&granted| granted <= bursts));
        granted
    }

    /// Processes the requests that have reached the NCC by `now`. Rates that arrive together are added.
    fn process_requests(&mut self, now: Time) {
        let Division {
            rate_persistence,
            volume_persistence,
            ..
        } = self.division;
        for account in &mut self.accounts {
            account.volume.age += 1;
            let mut rate = None;
            while account.inbox.front().is_some_and(|&(at, _)| at <= now) {
                account.processed += 1;
                match account.inbox.pop_front() {
                    Some((_, Request::Rate(kbps))) => rate = Some(rate.unwrap_or(0) + kbps),
                    Some((_, Request::Volume(bytes))) => {
                        account.volume.bytes += bytes;
                        account.volume.age = 0;
                    }
                    Some((_, Request::AbsoluteVolume(bytes))) => account.volume = RequestedVolume { bytes, age: 0 },
                    None => {}
                }
            }
            if let Some(kbps) = rate {
                account.rate = RequestedRate {
                    kbps: kbps.min(account.max_kbps),
                    superframes: rate_persistence,
                };
            }
            account.volume.bytes = account.volume.bytes.min(account.max_bytes);
            if volume_persistence.is_some_and(|persistence| account.volume.age >= persistence) {
                account.volume.bytes = 0;
            }
        }
    }

    /// Returns the number of bursts that have not been granted.
    fn remaining(&self, granted: &[u64]) -> u64 {
        (self.capacity.bursts * self.capacity.carriers).saturating_sub(granted.iter().sum())
    }

    /// Grants each terminal the bursts that it requests at a level, or a share in proportion to them if the capacity does
    /// not suffice; fractions of bursts are credited to the next superframe.
    fn grant(&mut self, level: usize, requested: &[u64], granted: &mut [u64]) {
        let room = |granted: &[u64], at: usize| self.capacity.bursts.saturating_sub(granted[at]);
        let requested: Vec<u64> = (0..granted.len())
            .map(|at| requested[at].min(room(granted, at)))
            .collect();
        let (total, mut remaining) = (requested.iter().sum::<u64>(), self.remaining(granted));
        if total <= remaining {
            requested
                .iter()
                .zip(granted)
                .for_each(|(requested, granted)| *granted += requested);
            self.accounts.iter_mut().for_each(|account| account.credits[level] = 0);
            return;
        }
        let capacity = u128::from(remaining);
        for ((account, granted), &requested) in self.accounts.iter_mut().zip(granted.iter_mut()).zip(&requested) {
            let credit = &mut account.credits[level];
            *credit += u128::from(requested) * capacity * BURST / u128::from(total);
            let whole = ((*credit / BURST) as u64).min(requested).min(remaining);
            *credit -= u128::from(whole) * BURST;
            *granted += whole;
            remaining -= whole;
        }
        // Bursts that remain go to the largest credits, one to each.
        let mut order: Vec<usize> = (0..granted.len()).filter(|&at| requested[at] > 0).collect();
        order.sort_by_key(|&at| Reverse(self.accounts[at].credits[level]));
        for at in order {
            if remaining == 0 {
                break;
            }
            if granted[at] < self.capacity.bursts {
                let credit = &mut self.accounts[at].credits[level];
                *credit = credit.saturating_sub(BURST);
                granted[at] += 1;
                remaining -= 1;
            }
        }
    }

    /// Grants the terminals with the largest volumes all that they request, until the capacity ends.
    fn grant_largest_first(&self, requested: &[u64], granted: &mut [u64]) {
        let mut remaining = self.remaining(granted);
        let mut order: Vec<usize> = (0..granted.len()).filter(|&at| requested[at] > 0).collect();
        order.sort_by_key(|&at| Reverse(requested[at]));
        for at in order {
            let bursts = requested[at].min(self.capacity.bursts - granted[at]).min(remaining);
            granted[at] += bursts;
            remaining -= bursts;
        }
    }

    /// Divides free capacity equally among the terminals that may use it; bursts that remain go to one terminal each,
    /// beginning with another one in each superframe.
    fn grant_free(&self, superframe: u64, granted: &mut [u64]) {
        let count = granted.len();
        let before = granted.to_vec();
        let room = |granted: &[u64], at: usize| {
            let of_carrier = self.capacity.bursts.saturating_sub(granted[at]);
            of_carrier.min(self.accounts[at].free_bursts - (granted[at] - before[at]))
        };
        loop {
            let remaining = self.remaining(granted);
            let turns = (0..count).map(|turn| (superframe as usize + turn) % count);
            let eligible: Vec<usize> = turns.filter(|&at| room(granted, at) > 0).collect();
            if remaining == 0 || eligible.is_empty() {
                return;
            }
            let share = remaining / eligible.len() as u64;
            let remainder = if share == 0 { remaining as usize } else { eligible.len() };
            for &at in &eligible[..remainder] {
                granted[at] += room(granted, at).min(share.max(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ncc(terminals: usize, bursts: u64, largest_volume_first: bool) -> Ncc {
        let capacity = Capacity {
            bursts,
            carriers: 1,
            burst_bytes: 38,
            superframe_ps: 100_000_000_000,
        };
        let division = Division {
            rate_persistence: 5,
            volume_persistence: Some(7),
            largest_volume_first,
        };
        let account = Account::new(0, 0, (9216, 384 << 10));
        Ncc::new(capacity, division, vec![account; terminals])
    }

    #[test]
    fn a_rate_is_granted_in_whole_bursts_until_it_expires() {
        let mut ncc = ncc(1, 149, false);
        ncc.receive(0, Time(1), Request::Rate(132));
        // 1650 bytes are 44 bursts of 38 bytes, which is 133.76 kbit/s.
        let plans: Vec<u64> = (0..7).map(|superframe| ncc.plan(Time(2), superframe)[0]).collect();
        assert_eq!(plans, [44, 44, 44, 44, 44, 0, 0]);
        assert!(!ncc.is_active());
    }

    #[test]
    fn a_volume_is_granted_once_and_an_absolute_volume_replaces_it() {
        let mut ncc = ncc(1, 10, false);
        ncc.receive(0, Time(1), Request::Volume(38 * 14));
        assert_eq!(ncc.plan(Time(2), 0), [10]);
        assert_eq!(ncc.plan(Time(2), 1), [4]);
        assert_eq!(ncc.plan(Time(2), 2), [0]);
        ncc.receive(0, Time(3), Request::Volume(1000));
        ncc.receive(0, Time(3), Request::AbsoluteVolume(39));
        assert_eq!(ncc.plan(Time(3), 3), [2]);
        assert!(!ncc.is_active());
    }

    #[test]
    fn a_volume_expires_without_further_requests() {
        let mut ncc = ncc(1, 1, false);
        ncc.receive(0, Time(1), Request::Volume(38 * 100));
        let granted: u64 = (0..20).map(|superframe| ncc.plan(Time(2), superframe)[0]).sum();
        assert_eq!(granted, 7);
    }

    #[test]
    fn overload_is_divided_in_proportion_over_time() {
        let mut ncc = ncc(3, 10, false);
        let mut sums = [0; 3];
        for superframe in 0..60 {
            for (terminal, kbps) in [30, 60, 90].into_iter().enumerate() {
                ncc.receive(terminal, Time(superframe), Request::Rate(kbps));
            }
            let plan = ncc.plan(Time(superframe), superframe);
            assert_eq!(plan.iter().sum::<u64>(), 10);
            sums.iter_mut().zip(&plan).for_each(|(sum, given)| *sum += given);
        }
        // The rates need 10, 20 and 30 bursts, of which a maximum of 10 is granted to one terminal.
        assert_eq!(sums, [200, 200, 200]);
    }

    #[test]
    fn the_largest_volume_is_served_first_by_the_rules_of_opensand() {
        let mut ncc = ncc(3, 10, true);
        for (terminal, bursts) in [3, 8, 5].into_iter().enumerate() {
            ncc.receive(terminal, Time(0), Request::Volume(38 * bursts));
        }
        assert_eq!(ncc.plan(Time(0), 0), [0, 8, 2]);
        assert_eq!(ncc.plan(Time(0), 1), [3, 0, 3]);
    }

    #[test]
    fn free_capacity_is_divided_equally() {
        let mut ncc = ncc(3, 10, false);
        ncc.accounts.iter_mut().for_each(|account| account.free_bursts = 10);
        let plans: Vec<Vec<u64>> = (0..3).map(|superframe| ncc.idle_plan(superframe)).collect();
        assert_eq!(plans, [[4, 3, 3], [3, 4, 3], [3, 3, 4]]);
    }
}
