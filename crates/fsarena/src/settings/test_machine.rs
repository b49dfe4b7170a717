//! The machine on whose kernel cells run, with the facts needed to select contenders.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use backend::{AgentTransport, MachineInfo};
use config::{Catalog, DirectoryContender};
use guest::Guest;
use model::BackendKind;
use model::wire::machine::MountedDirectory;
use storage::HostInfo;

use crate::commands::guest as guest_command;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::paths;
use crate::settings::guest::GuestSettings;

/// Machine on which cells run, with the facts needed to select contenders.
pub struct TestMachine {
    /// This machine and the contents of its guest.
    pub machine: HostInfo,
    /// Guest in which cells run, if any.
    pub guest: Option<Arc<Guest>>,
    /// Whether the user's device is a block device.
    pub is_block_device: bool,
    /// Directories used as contenders.
    pub directories: Vec<MountedDirectory>,
}

impl TestMachine {
    /// Examines the machine on whose kernel cells run.
    pub fn inspect_host(
        reach: &dyn AgentTransport,
        catalog: &Catalog,
        backend: BackendKind,
        device: Option<&Path>,
        directories: &[DirectoryContender],
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let programs = paths::programs(catalog);
        let asked = directories.iter().map(|d| d.path.clone()).collect();
        let MachineInfo { machine, is_block_device, directories } =
            backend::inspect_machine(reach, programs, device, asked, stop)?;
        if reach.is_remote() && backend == BackendKind::Loop && !machine.root {
            let name = reach.name();
            return Err(EnvironmentError(format!(
                "the agent on {name} is not root, which mounting needs"
            ))
            .into());
        }
        Ok(Self {
            machine,
            guest: None,
            is_block_device,
            directories: directories.into_iter().collect::<Result<_, _>>().map_err(UsageError)?,
        })
    }

    /// Builds the guest, if it does not exist and cells will run.
    pub fn prepare_guest(
        wishes: &GuestSettings,
        dry_run: bool,
        catalog: &Catalog,
        progress: &ProgressDisplay,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let mut say = |text: &str| progress.note(text);
        let guest = match dry_run {
            true => guest_command::find_built(catalog, &wishes.build, stop, &mut say)?,
            false => guest_command::obtain(catalog, &wishes.build, stop, &mut say)?,
        };
        let machine = HostInfo {
            guest: Some(guest_command::contents(catalog, &guest)),
            ..HostInfo::inspect()
        };
        Ok(Self {
            machine,
            guest: Some(Arc::new(guest)),
            is_block_device: false,
            directories: Vec::new(),
        })
    }
}
