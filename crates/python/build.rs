//! The engine version: the package's version and a hash of all sources that decide a run's bits.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders of sources, from this crate; tests and benches decide nothing.
const SOURCES: [&str; 4] = ["../events/src", "../tcp/src", "../network/src", "src"];
/// The versions of the libraries.
const LOCK: &str = "../../Cargo.lock";

fn main() -> io::Result<()> {
    let mut hash = Sha256::new();
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={folder}");
        let mut files = Vec::new();
        find(Path::new(folder), &mut files)?;
        // Named with "/" on every system, and read without the line ends of Windows.
        let mut named: Vec<(String, PathBuf)> = files
            .into_iter()
            .map(|file| (file.to_string_lossy().replace('\\', "/"), file))
            .collect();
        named.sort();
        for (name, file) in named {
            add(&mut hash, &name, &fs::read_to_string(file)?);
        }
    }
    println!("cargo:rerun-if-changed={LOCK}");
    // Where the libraries came from decides nothing.
    let locked: Vec<String> = fs::read_to_string(LOCK)?
        .lines()
        .filter(|line| line.starts_with("name = ") || line.starts_with("version = "))
        .map(str::to_owned)
        .collect();
    add(&mut hash, LOCK, &locked.join("\n"));
    let digits: String = hash
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo:rustc-env=LONGPIPE_ENGINE={}+{digits}", env!("CARGO_PKG_VERSION"));
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn add(hash: &mut Sha256, name: &str, text: &str) {
    let text = text.replace('\r', "");
    hash.update(format!("{name} {}\n", text.len()));
    hash.update(text);
}
