//! Replays inputs without a fuzzer, and gives the fuzzer what it begins with.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use fuzz::{TARGETS, Target, target};

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

fn of(name: &str) -> io::Result<&'static Target> {
    target(name).ok_or_else(|| io::Error::other(format!("there is no target `{name}`")))
}

/// Each target with the length of its longest input, in bytes.
fn list() {
    for target in &TARGETS {
        println!("{} {}", target.name, target.longest);
    }
}

fn seeds(target: &Target, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(directory.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

fn replay(target: &Target, files: &[&str]) -> io::Result<()> {
    for file in files {
        (target.run)(&fs::read(file)?);
        println!("{file}: no fault");
    }
    Ok(())
}
