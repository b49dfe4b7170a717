//! What the agent of a machine is asked beside a campaign: what there is, what a source holds, what a device can do, and
//! what killed campaigns have left.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Calibration, Campaign, CampaignId, Source};
use provision::{FoundPrograms, Machine};
use wire::machine::{Answer, Facts, LeftDirectory, Measured, MountedDirectory, Request, Survey};

use crate::connection::{ATTENTION, Connection, Reach, lost};
use crate::dialogue::Dialogue;
use crate::error::{self, Interruption};

/// What a machine has, as far as it decides about what can run there.
pub struct Look {
    /// Its kernel, the programs that were asked for, and so on.
    pub machine: Machine,
    /// Whether the device that was asked for is a block device.
    pub is_block_device: bool,
    /// The directories that were asked for, in the same order; or why one cannot compete.
    pub directories: Vec<Result<MountedDirectory, String>>,
}

/// What a machine has of these programs, its kernel and so on; and what this path and these directories are there.
///
/// # Errors
/// When it cannot be reached, or the user asks to stop.
pub fn look(
    reach: &dyn Reach,
    programs: BTreeSet<String>,
    device: Option<&Path>,
    directories: Vec<PathBuf>,
    stop: &AtomicBool,
) -> anyhow::Result<Look> {
    let request = Request::Look {
        programs,
        device: device.map(Path::to_owned),
        directories,
    };
    match ask(reach, &request, stop)? {
        Answer::Looked(facts) => Ok(seen(*facts)),
        _ => Err(unexpected()),
    }
}

fn seen(facts: Facts) -> Look {
    Look {
        is_block_device: facts.is_block_device,
        directories: facts.directories,
        machine: Machine {
            root: facts.root,
            kernel: facts.kernel,
            filesystems: facts.filesystems,
            modules: facts.modules,
            loads_modules: facts.loads_modules,
            loop_control: facts.loop_control,
            fuse_device: facts.fuse_device,
            available_memory: facts.available_memory,
            programs: FoundPrograms::These(facts.programs),
            guest: None,
        },
    }
}

/// What a source of the user's holds.
///
/// # Errors
/// When it cannot be copied from, or the machine cannot be reached.
pub fn survey(reach: &dyn Reach, survey: Survey, stop: &AtomicBool) -> anyhow::Result<Source> {
    match ask(reach, &Request::Survey(survey), stop)? {
        Answer::Surveyed(source) => Ok(*source),
        _ => Err(unexpected()),
    }
}

/// Measures the harness overhead and a device.
///
/// # Errors
/// When the device is refused, the user asks to stop, or the machine cannot be reached.
pub fn measure(
    reach: &dyn Reach,
    what: Measured,
    dialogue: &dyn Dialogue,
    stop: &AtomicBool,
) -> anyhow::Result<Calibration> {
    let mut connection = Connection::open(reach, stop)?;
    connection.ask(&Request::Measure(what))?;
    let is_it = |answer: &Answer| matches!(answer, Answer::Calibrated(_));
    match connection.answer(is_it, dialogue, stop, &mut |_| {})? {
        Answer::Calibrated(Some(taken)) => Ok(*taken),
        Answer::Calibrated(None) => Err(Interruption.into()),
        _ => Err(unexpected()),
    }
}

/// What killed campaigns have left in these directories.
///
/// # Errors
/// When the machine cannot be reached.
pub fn find_left(reach: &dyn Reach, places: Vec<PathBuf>) -> anyhow::Result<Vec<LeftDirectory>> {
    let request = Request::FindLeft { places };
    match ask(reach, &request, &AtomicBool::new(false))? {
        Answer::Left(left) => Ok(left),
        _ => Err(unexpected()),
    }
}

/// Removes a directory that was left, with what else is known of its campaign.
///
/// # Errors
/// When it cannot be removed, or another process has it.
pub fn remove_left(
    reach: &dyn Reach,
    directory: &Path,
    campaign: Option<(CampaignId, &Campaign)>,
) -> anyhow::Result<()> {
    let request = Request::RemoveLeft {
        directory: directory.to_owned(),
        campaign: campaign.map(|(id, campaign)| (id, Box::new(campaign.clone()))),
    };
    ask(reach, &request, &AtomicBool::new(false)).map(drop)
}

/// Asks what changes nothing, and gives the answer. Where the user asks to stop, nobody waits for it: the agent may be
/// looking at a directory of which nothing is heard any more.
fn ask(reach: &dyn Reach, request: &Request, stop: &AtomicBool) -> anyhow::Result<Answer> {
    let mut connection = Connection::open(reach, stop)?;
    connection.ask(request)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            connection.abandon();
            return Err(Interruption.into());
        }
        match connection.next(ATTENTION)? {
            Some(Answer::Failed { kind, reason }) => return Err(error::told(kind, reason)),
            Some(answer) => return Ok(answer),
            None => {}
        }
    }
}

fn unexpected() -> anyhow::Error {
    lost("it said something else").into()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// An agent that answers nothing, and does not notice that nobody is there any more.
    struct Silent;

    impl Reach for Silent {
        fn command(&self) -> anyhow::Result<Command> {
            let version = wire::VERSION;
            let hello = Answer::Hello { version }.to_line();
            let mut command = Command::new("sh");
            command.args(["-c", "printf %s \"$1\"; exec sleep 1000", "sh", &hello]);
            Ok(command)
        }

        fn name(&self) -> String {
            "a machine".into()
        }

        fn is_far(&self) -> bool {
            false
        }
    }

    /// An agent that ends before its first word.
    struct Dead;

    impl Reach for Dead {
        fn command(&self) -> anyhow::Result<Command> {
            Ok(Command::new("true"))
        }

        fn name(&self) -> String {
            "a machine".into()
        }

        fn is_far(&self) -> bool {
            false
        }
    }

    #[test]
    fn an_agent_that_ctrl_c_ends_before_it_listens_is_no_failure() {
        let request = Request::FindLeft { places: Vec::new() };
        let asked = |stop| ask(&Dead, &request, &AtomicBool::new(stop)).unwrap_err();
        assert!(asked(true).is::<Interruption>());
        assert!(asked(false).to_string().contains("did not start"));
    }

    #[test]
    fn nobody_waits_for_an_answer_once_the_user_asks_to_stop() {
        let source = Survey {
            source: "/".into(),
            backend: model::Backend::Dir,
            device: None,
            in_use: Vec::new(),
        };
        let error = survey(&Silent, source, &AtomicBool::new(true)).unwrap_err();
        assert!(error.is::<Interruption>(), "{error}");
    }
}
