//! fio: one job, given on the command line, with output in JSON (fio(1), "JSON output").

use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use anyhow::Context;
use model::Bytes;
use serde::Deserialize;

use crate::peers::{self, PeerSample, PeerSamples};
use crate::scratch::ScratchFs;

/// A job of fio, with fio's option names.
#[derive(Clone, Debug)]
pub struct FioBenchJob {
    /// Name of the result.
    pub result: &'static str,
    /// `rw`.
    pub rw: &'static str,
    /// `ioengine`.
    pub ioengine: &'static str,
    /// `bs`.
    pub block: Bytes,
    /// Name of the file in the scratch directory.
    pub file: &'static str,
    /// `size`, per thread if there are several threads.
    pub size: Bytes,
    /// `runtime` with `time_based`, in seconds. If absent, the job runs to the end of the size.
    pub seconds: Option<u64>,
    /// `numjobs`, as threads.
    pub threads: u32,
    /// Whether each thread has a separate file, whose name ends with a dot and the thread number.
    pub own: bool,
    /// Whether the job creates the file, which is removed before the job.
    pub fresh: bool,
    /// Whether the file is removed after the job.
    pub last: bool,
    /// Whether the filesystem is remounted with dropped caches before the job.
    pub cold: bool,
    /// Whatever else.
    pub more: Vec<String>,
}

impl FioBenchJob {
    /// Runs fio.
    ///
    /// # Errors
    /// Returns an error if fio fails or its output has an unexpected format.
    pub fn run(&self, scratch: &ScratchFs) -> anyhow::Result<PeerSamples> {
        if self.fresh {
            self.remove(scratch)?;
        }
        if self.cold {
            scratch.make_cold()?;
        }
        let mut command = Command::new("fio");
        command.args(self.arguments());
        let path = scratch.path().join(self.file);
        match self.own {
            true => command
                .arg(format!("--directory={}", scratch.path().display()))
                .arg(format!("--filename_format={}.$jobnum", self.file)),
            false => command.arg(format!("--filename={}", path.display())),
        };
        let output = peers::run(&mut command)?;
        if self.last {
            self.remove(scratch)?;
        }
        let sample = parse(&output)?.sample(self.counts_bytes())?;
        Ok(PeerSamples::from([(self.result.to_owned(), sample)]))
    }

    /// Removes the job's files if they exist.
    fn remove(&self, scratch: &ScratchFs) -> anyhow::Result<()> {
        let names: Vec<String> = match self.own {
            true => (0..self.threads).map(|i| format!("{}.{i}", self.file)).collect(),
            false => vec![self.file.to_owned()],
        };
        for name in names {
            match fs::remove_file(scratch.path().join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns true for sequential jobs, which are compared by bytes; random jobs are compared by
    /// operations.
    fn counts_bytes(&self) -> bool {
        !self.rw.starts_with("rand")
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--name=job".to_owned(),
            "--output-format=json".to_owned(),
            "--thread".to_owned(),
            "--group_reporting".to_owned(),
            // Draws offsets with replacement, as the engine does, and keeps no map of visited
            // blocks.
            "--norandommap".to_owned(),
            // The engine controls the cache state; fio would drop the file from the cache.
            "--invalidate=0".to_owned(),
            // By default, fio would allocate the space before its clock starts.
            "--fallocate=none".to_owned(),
            format!("--rw={}", self.rw),
            format!("--ioengine={}", self.ioengine),
            format!("--bs={}", self.block.0),
            format!("--size={}", self.size.0),
            format!("--numjobs={}", self.threads),
        ];
        if !self.fresh {
            arguments.push("--allow_file_create=0".to_owned());
        }
        if let Some(seconds) = self.seconds {
            arguments.push("--time_based".to_owned());
            arguments.push(format!("--runtime={seconds}"));
        }
        arguments.extend(self.more.iter().cloned());
        arguments
    }
}

#[derive(Debug, Deserialize)]
struct FioBenchOutput {
    jobs: Vec<Group>,
}

/// All threads of a job, which fio reports as one group.
#[derive(Debug, Deserialize)]
struct Group {
    error: i64,
    read: FioDirectionStats,
    write: FioDirectionStats,
    /// User processor time, in percent of the run time.
    usr_cpu: f64,
    /// System processor time, in percent of the run time.
    sys_cpu: f64,
    /// Run time summed over all threads, in milliseconds.
    job_runtime: u64,
}

#[derive(Debug, Deserialize)]
struct FioDirectionStats {
    io_bytes: u64,
    bw_bytes: f64,
    iops: f64,
    total_ios: u64,
}

impl Group {
    fn sample(&self, bytes: bool) -> anyhow::Result<PeerSample> {
        anyhow::ensure!(self.error == 0, "fio reports error {}", self.error);
        let operations = self.read.total_ios + self.write.total_ios;
        anyhow::ensure!(
            operations > 0 && self.read.io_bytes + self.write.io_bytes > 0,
            "fio did nothing"
        );
        let rate = match bytes {
            true => self.read.bw_bytes + self.write.bw_bytes,
            false => self.read.iops + self.write.iops,
        };
        let busy = (self.usr_cpu + self.sys_cpu) / 100.0 * self.job_runtime as f64 / 1000.0;
        Ok(PeerSample { rate, processor: Some(busy / operations as f64) })
    }
}

/// Parses the output. Notes may precede the JSON.
fn parse(output: &str) -> anyhow::Result<Group> {
    let start = output.find('{').context("fio gave no JSON")?;
    let output: FioBenchOutput = serde_json::from_str(&output[start..]).context("fio's JSON")?;
    output.jobs.into_iter().next().context("fio ran no job")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fio 3.33, shortened.
    const OUTPUT: &str = r#"fio: a note
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "job",
      "error" : 0,
      "job options" : { "rw" : "randread", "bs" : "4096" },
      "read" : {
        "io_bytes" : 4090802176, "bw_bytes" : 2044378898, "iops" : 499115.942029,
        "runtime" : 2001, "total_ios" : 998731
      },
      "write" : { "io_bytes" : 0, "bw_bytes" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0 },
      "job_runtime" : 2000, "usr_cpu" : 18.5, "sys_cpu" : 74.25, "ctx" : 20
    }
  ]
}"#;

    #[test]
    fn reads_rates_and_processor_time() {
        let group = parse(OUTPUT).unwrap();
        let operations = group.sample(false).unwrap();
        assert_eq!(operations.rate, 499_115.942029);
        let processor = operations.processor.unwrap();
        assert!((processor - 1.855 / 998_731.0).abs() < 1e-12, "{processor}");
        assert_eq!(group.sample(true).unwrap().rate, 2_044_378_898.0);
    }

    #[test]
    fn refuses_errors_and_results_without_operations() {
        let failed = OUTPUT.replace("\"error\" : 0", "\"error\" : 5");
        assert!(parse(&failed).unwrap().sample(false).is_err());
        let idle = OUTPUT.replace("998731", "0");
        assert!(parse(&idle).unwrap().sample(false).is_err());
        assert!(parse("fio: engine not loadable").is_err());
    }

    #[test]
    fn job_becomes_fio_arguments() {
        let job = FioBenchJob {
            result: "random-read",
            rw: "randread",
            ioengine: "psync",
            block: Bytes::kib(4),
            file: "f",
            size: Bytes::mib(1),
            seconds: Some(2),
            threads: 8,
            own: false,
            fresh: false,
            last: false,
            cold: false,
            more: vec!["--direct=1".into()],
        };
        let arguments = job.arguments().join(" ");
        for word in [
            "--bs=4096",
            "--numjobs=8",
            "--time_based --runtime=2 --direct=1",
            "--allow_file_create=0",
        ] {
            assert!(arguments.contains(word), "{arguments}");
        }
    }
}
