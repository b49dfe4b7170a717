//! Replays inputs without a fuzzer, and writes the initial inputs of the fuzzer.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use fuzz::{FuzzTarget, TARGETS, target};

const USAGE: &str = "usage: fuzz-input targets | seeds TARGET DIRECTORY | replay TARGET FILE...";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["targets"] => {
            list();
            Ok(())
        }
        ["seeds", name, directory] => of(name).and_then(|t| seeds(t, Path::new(directory))),
        ["replay", name, ref files @ ..] => of(name).and_then(|t| replay(t, files)),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn of(name: &str) -> io::Result<&'static FuzzTarget> {
    target(name).ok_or_else(|| io::Error::other(format!("there is no target `{name}`")))
}

/// Prints each target with the maximum length of its inputs, in bytes.
fn list() {
    for target in &TARGETS {
        println!("{} {}", target.name, target.longest);
    }
}

fn seeds(target: &FuzzTarget, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(directory.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

fn replay(target: &FuzzTarget, files: &[&str]) -> io::Result<()> {
    for file in files {
        (target.run)(&fs::read(file)?);
        println!("{file}: no fault");
    }
    Ok(())
}
