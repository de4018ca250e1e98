//! Random parameters of described parts, drawn from the bounds that the parts declare.

use longpipe_events::{Stream, PS_PER_SECOND};
use longpipe_network::scenario::LinkConfig;
use longpipe_tcp::described::{Bounds, Field, Part, Type};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Maximum number of a controller's actions in one run; otherwise days of idle time on a fast link would dominate it.
const MAX_UPDATES: u64 = 2_000_000;
/// Maximum of numbers that are not limited by a smaller bound.
const LARGEST: f64 = 1e6;
/// Number of attempts to satisfy the rules of a part.
const ATTEMPTS: u32 = 1000;

/// A port, near whose times, sizes and rates parameters are drawn, because others have no effect.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Transmission time of the longest packet.
    pub packet_ps: u64,
    /// Length of the longest packet.
    pub packet_bytes: u32,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Duration of the run.
    pub duration_ps: u64,
}

impl Scale {
    /// Returns the scale of a link whose longest packets have `packet_bytes` bytes.
    pub fn of(link: &LinkConfig, packet_bytes: u32, duration_ps: u64) -> Scale {
        let bits = 8 * u128::from(packet_bytes);
        Scale {
            packet_ps: (bits * u128::from(PS_PER_SECOND) / u128::from(link.rate_bps)) as u64,
            packet_bytes,
            rate_bps: link.rate_bps,
            duration_ps,
        }
    }

    /// Returns random parameters of a kind of part that a condition accepts.
    pub fn draw<T: DeserializeOwned>(
        &self,
        (kind, part): &(&'static str, Part),
        seed: u64,
        accepts: impl Fn(&T) -> bool,
    ) -> T {
        let mut stream = Stream::new(seed, "described", 0);
        for attempt in 0..ATTEMPTS {
            // Rules may limit times to less than those of a slow link or a long run.
            let smaller = Scale {
                packet_ps: self.packet_ps >> (attempt / 20),
                duration_ps: self.duration_ps >> (attempt / 20),
                ..*self
            };
            let mut fields = smaller.fields(part, &mut stream);
            fields.insert("kind".to_owned(), (*kind).into());
            let drawn = serde_json::from_value(Value::Object(fields)).expect("the description is that of the type");
            if accepts(&drawn) {
                return drawn;
            }
        }
        panic!("{kind}: no parameters were accepted")
    }

    fn fields(&self, part: &Part, stream: &mut Stream) -> Map<String, Value> {
        let mut fields = Map::new();
        for field in &part.fields {
            // Python computes the value of a text from the user's file.
            let is_of_core = !matches!(field.ty, Type::Text { .. } | Type::Python { .. });
            let is_drawn = is_of_core && (!field.optional || stream.below(3) > 0);
            if is_drawn {
                fields.insert(name(field), self.value(&field.ty, stream));
            }
        }
        fields
    }

    fn value(&self, ty: &Type, stream: &mut Stream) -> Value {
        match ty {
            Type::Quantity { dimension, bounds, .. } => self.quantity(dimension, bounds, stream).into(),
            Type::Share { bounds } => integer(bounds, stream.fraction() * bounds.most as f64).into(),
            Type::Integer { bounds, .. } => {
                let magnitude = logarithmic(bounds.least.max(1) as f64, bounds.most as f64, stream);
                let is_negative = bounds.least < 0 && stream.below(2) == 0;
                integer(bounds, if is_negative { -magnitude } else { magnitude }).into()
            }
            Type::Float { bounds } => float(bounds, stream).into(),
            Type::Bool => (stream.below(2) == 1).into(),
            Type::Names { names } => names[stream.below(names.len() as u64) as usize].into(),
            Type::Numbers { numbers } => {
                let number = numbers[stream.below(numbers.len() as u64) as usize];
                number.parse::<u64>().expect("an integer").into()
            }
            Type::List { of, ascending, .. } => self.list(of, *ascending, stream),
            Type::Row { each } => each.iter().map(|ty| self.value(ty, stream)).collect(),
            Type::Text { .. } | Type::Python { .. } => Value::Null,
            Type::Part { part } => self.fields(part, stream).into(),
            Type::Kinds { kinds } => {
                let (kind, part) = &kinds[stream.below(kinds.len() as u64) as usize];
                let mut fields = self.fields(part, stream);
                fields.insert("kind".to_owned(), (*kind).into());
                fields.into()
            }
        }
    }

    fn quantity(&self, dimension: &str, bounds: &Bounds<i128>, stream: &mut Stream) -> i64 {
        let drawn = match dimension {
            "time" => {
                let least = (self.duration_ps / MAX_UPDATES) as f64;
                (self.packet_ps as f64 * logarithmic(0.01, 1000.0, stream)).max(least)
            }
            "size" => f64::from(self.packet_bytes) * logarithmic(0.01, 20.0, stream),
            "rate" => self.rate_bps as f64 * logarithmic(0.001, 10.0, stream),
            _ => logarithmic(1.0, bounds.most as f64, stream),
        };
        integer(bounds, drawn)
    }

    /// Returns three to five items; ascending items are times of the run, or small numbers.
    fn list(&self, of: &Type, ascending: bool, stream: &mut Stream) -> Value {
        let count = 3 + stream.below(3);
        let mut items: Vec<Value> = (0..count).map(|_| self.value(of, stream)).collect();
        if ascending {
            let times = Scale {
                packet_ps: self.duration_ps / 200,
                ..*self
            };
            items = (0..count).map(|_| times.value(of, stream)).collect();
            let first = |item: &Value| item.get(0).unwrap_or(item).as_u64();
            items.sort_by_key(first);
            items.dedup_by_key(|item| first(item));
        }
        items.into()
    }
}

/// Returns the name of a field in the core.
fn name(field: &Field) -> String {
    match field.unit {
        "" => field.name.to_owned(),
        unit => format!("{}_{unit}", field.name),
    }
}

fn integer(bounds: &Bounds<i128>, drawn: f64) -> i64 {
    (drawn as i128).clamp(bounds.least, bounds.most) as i64
}

/// Draws a number whose logarithm is uniformly distributed.
fn logarithmic(least: f64, most: f64, stream: &mut Stream) -> f64 {
    least * (most.min(LARGEST).max(least) / least).powf(stream.fraction())
}

/// Draws a probability or another share, rather small than large, or a number of any magnitude.
fn float(bounds: &Bounds<f64>, stream: &mut Stream) -> f64 {
    let drawn = if bounds.most <= 1.0 {
        stream.fraction().powi(3)
    } else {
        logarithmic(1e-2, bounds.most, stream)
    };
    // Numbers of few digits do not change if they are converted to text and back.
    let rounded = format!("{drawn:.2e}").parse().unwrap_or(drawn);
    f64::clamp(rounded, bounds.least, bounds.most)
}
