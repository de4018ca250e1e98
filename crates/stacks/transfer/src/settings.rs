//! Settings of a transfer: words of the form `name=value`.

use crate::controls::CONTROLS;
use crate::transport::transport;
use quinn::TransportConfig;
use std::sync::Arc;

/// Settings of a transfer.
#[derive(Debug)]
pub struct Settings<'a> {
    /// Congestion control of the sender.
    pub congestion: &'a str,
    /// Data to send [byte].
    pub size: u64,
    /// Flow-control windows and send buffer [byte]; the stack's defaults apply if they are absent.
    pub window: Option<u64>,
    /// Largest UDP payload [byte].
    pub most_bytes: u16,
}

impl<'a> Settings<'a> {
    /// Reads settings.
    ///
    /// # Errors
    /// Returns an error that names the setting, its value and what is accepted.
    pub fn read(words: &'a [String]) -> Result<Settings<'a>, String> {
        let mut settings = Settings {
            congestion: "cubic",
            size: 1_000_000,
            window: None,
            most_bytes: 1452,
        };
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{word}: needs NAME=VALUE"))?;
            let bytes = || {
                value
                    .parse()
                    .map_err(|_| format!("{name}: {value}; needs a number of bytes"))
            };
            match name {
                "congestion" if CONTROLS.contains(&value) => settings.congestion = value,
                "congestion" => return Err(format!("congestion: {value}; needs {}", CONTROLS.join(", "))),
                "size" => settings.size = bytes()?,
                "window" => settings.window = Some(bytes()?),
                "most_bytes" => {
                    let needs = format!("most_bytes: {value}; needs 1200 to 65527");
                    let max_bytes = value
                        .parse()
                        .ok()
                        .filter(|max_bytes| (1200..=65_527).contains(max_bytes));
                    settings.most_bytes = max_bytes.ok_or(needs)?;
                }
                _ => return Err(format!("{name}: needs congestion, size, window or most_bytes")),
            }
        }
        Ok(settings)
    }

    /// Returns the configuration of a connection. Each datagram is sent by itself, as in a simulation.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
    pub fn transport(&self) -> Result<Arc<TransportConfig>, String> {
        let mut transport = transport(self.congestion, self.window, self.most_bytes)?;
        transport.enable_segmentation_offload(false);
        Ok(Arc::new(transport))
    }
}
