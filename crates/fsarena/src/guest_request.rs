//! From what the user asks of a guest's machine to the machine that a campaign has, checked before anything
//! runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use catalog::{CampaignFile, Catalog};
use guest::{Guest, Machine};
use model::{Accelerator, Bytes, Clock, Contender, DiskCache, GuestDisk, GuestMachine};

use crate::exit::{BadInput, Refused};
use crate::guest_args::BuildOptions;
use crate::guest_ground::disk_size;
use crate::progress::Progress;
use crate::run_args::RunArgs;

/// The model of a disk where the user names none.
const DISK: &str = "nvme";
/// What a guest's kernel, its programs and their page cache want beside a disk in memory.
const BESIDE_DISK: Bytes = Bytes::mib(512);
/// Memory is given in steps of this.
const STEP: Bytes = Bytes::mib(512);
/// Memory of a guest where nothing asks for more.
const USUAL_MEMORY: Bytes = Bytes::mib(1024);
/// With less, a guest's kernel and its first filesystem find no room.
const LEAST_MEMORY: Bytes = Bytes::mib(256);
/// Processors of a guest in real time, where there are so many.
const USUAL_PROCESSORS: u32 = 4;

/// What the user asks for; what is absent is left to defaults.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    clock: Option<Clock>,
    memory: Option<Bytes>,
    processors: Option<u32>,
    disk: Option<String>,
    disks: Option<u32>,
    disk_cache: Option<DiskCache>,
    /// Whether the disk is to be a real device.
    device: bool,
    /// Whether there is one more disk, to copy from.
    source: bool,
    jobs: Option<u32>,
    no_cache: bool,
    /// What the guest is to be made of.
    pub build: BuildOptions,
}

impl Wishes {
    /// Those of the command line; of the campaign file where that says nothing. So much memory is asked for by either.
    pub fn of(args: &RunArgs, file: &CampaignFile, memory: Option<Bytes>) -> Self {
        let (asked, filed) = (&args.machine, &file.machine);
        Self {
            clock: asked.clock.or(filed.clock),
            memory,
            processors: asked.processors.or(filed.processors),
            disk: asked.disk.clone().or_else(|| filed.disk.clone()),
            disks: asked.disks.or(filed.disks),
            disk_cache: asked.disk_cache.or(filed.disk_cache),
            device: args.storage.device.is_some() || file.device.is_some(),
            source: args.source.is_some() || file.source.is_some(),
            jobs: asked.jobs,
            no_cache: asked.no_cache,
            build: asked.build.clone(),
        }
    }

    /// How many disks a guest has.
    pub fn disks(&self) -> u32 {
        self.disks.unwrap_or(1)
    }

    /// The same with the one that is copied from.
    pub fn all_disks(&self) -> u32 {
        self.disks() + u32::from(self.source)
    }

    /// Whether the disk is to be a real device.
    pub const fn has_device(&self) -> bool {
        self.device
    }

    /// The first wish that only a guest can grant, by its option.
    pub fn only_for_guests(&self) -> Option<&'static str> {
        let wishes = [
            ("--clock", self.clock.is_some()),
            ("--processors", self.processors.is_some()),
            ("--disk", self.disk.is_some()),
            ("--disks", self.disks.is_some()),
            ("--disk-cache", self.disk_cache.is_some()),
            ("--jobs", self.jobs.is_some()),
            ("--no-cache", self.no_cache),
            ("--mirror", self.build.mirror.is_some()),
            ("--with", !self.build.with.is_empty()),
            ("--kernel", self.build.kernel.is_some()),
            ("--rootfs", self.build.rootfs.is_some()),
        ];
        let mut given = wishes.into_iter().filter(|(_, given)| *given);
        given.next().map(|(option, _)| option)
    }
}

/// Whether guests run on KVM here, or why they do not; nothing where it is no matter.
pub fn proof(
    wishes: &Wishes,
    guest: &Guest,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Option<Result<(), String>>> {
    match wishes.clock {
        Some(Clock::Model) => Ok(None),
        _ => Ok(Some(guest::prove_kvm(guest, stop)?)),
    }
}

/// The clock of a campaign in guests, and the machine that each of its cells gets for disks of this size.
pub fn machine(
    wishes: &Wishes,
    size: Bytes,
    guest: &Guest,
    proof: Option<Result<(), String>>,
    catalog: &Catalog,
    progress: &Progress,
) -> anyhow::Result<(Clock, GuestMachine)> {
    let (clock, accelerator, words) = clock(wishes, proof);
    let disk = disk(wishes, clock, catalog)?;
    require_modules(guest, &disk, wishes.disks())?;
    let machine = settle(wishes, size, clock, accelerator, disk, guest)?;
    require_room(&machine, provision::available_memory())?;
    progress.note(&format!("{clock}{words}: {machine}"));
    Ok((clock, machine))
}

/// The clock, who executes, and why it is so: real time where the user wants it or KVM works.
fn clock(wishes: &Wishes, kvm: Option<Result<(), String>>) -> (Clock, Accelerator, String) {
    let wants_real = wishes.clock == Some(Clock::Real) || wishes.device;
    match kvm {
        None => (Clock::Model, Accelerator::Tcg, String::new()),
        Some(Ok(())) => (Clock::Real, Accelerator::Kvm, " on KVM".to_owned()),
        Some(Err(why)) if wants_real => (
            Clock::Real,
            Accelerator::Tcg,
            format!(" without KVM ({why}), emulated, so that times mean little"),
        ),
        Some(Err(why)) => (Clock::Model, Accelerator::Tcg, format!(", for {why}")),
    }
}

/// What the guest's disks are: in model time nothing may come from outside.
fn disk(wishes: &Wishes, clock: Clock, catalog: &Catalog) -> anyhow::Result<GuestDisk> {
    match (clock, &wishes.disk) {
        (_, Some(name)) => model(name, wishes, catalog),
        (Clock::Model, None) => model(DISK, wishes, catalog),
        (Clock::Real, None) if wishes.device => Ok(GuestDisk::Device {
            cache: wishes.disk_cache.unwrap_or(DiskCache::None),
        }),
        (Clock::Real, None) => Ok(GuestDisk::Image {
            cache: wishes.disk_cache.unwrap_or_default(),
        }),
    }
}

/// A disk in the guest's memory, where options for other disks mean nothing.
fn model(name: &str, wishes: &Wishes, catalog: &Catalog) -> anyhow::Result<GuestDisk> {
    let options = [
        ("--device", wishes.device),
        ("--disk-cache", wishes.disk_cache.is_some()),
    ];
    if let Some((option, _)) = options.into_iter().find(|(_, given)| *given) {
        return Err(BadInput(format!(
            "{option} means nothing for a disk in the guest's memory, which it is in model time and with \
             --disk: leave it out"
        ))
        .into());
    }
    let model = catalog.disk(name)?.clone();
    Ok(GuestDisk::Model { model })
}

fn settle(
    wishes: &Wishes,
    size: Bytes,
    clock: Clock,
    accelerator: Accelerator,
    disk: GuestDisk,
    guest: &Guest,
) -> Result<GuestMachine, BadInput> {
    let disks = wishes.disks();
    if disks > 1 && wishes.device {
        return Err(BadInput(
            "--device is the one disk of a guest: leave --disks out".into(),
        ));
    }
    if clock == Clock::Real && wishes.jobs.is_some_and(|jobs| jobs > 1) {
        return Err(BadInput(
            "in real time cells would disturb each other: --jobs is for --clock model".into(),
        ));
    }
    let in_memory = matches!(disk, GuestDisk::Model { .. });
    let all = together(size, wishes.all_disks())?;
    let memory = memory(wishes.memory, in_memory.then_some(all))?;
    let processors = processors(wishes.processors, clock)?;
    let cpu = Machine {
        clock,
        accelerator,
        ..Machine::default()
    }
    .cpu();
    Ok(GuestMachine {
        memory,
        processors,
        accelerator,
        cpu: cpu.to_owned(),
        disks,
        disk,
        kernel: guest.release().to_owned(),
        made: guest.name().to_owned(),
    })
}

/// The size of all disks of a guest.
///
/// # Errors
/// When there is no such size.
pub fn together(size: Bytes, disks: u32) -> Result<Bytes, BadInput> {
    let all = size.0.checked_mul(u64::from(disks)).map(Bytes);
    let all = all.filter(|all| *all <= Bytes::LARGEST);
    all.ok_or_else(|| {
        BadInput(format!(
            "--size {size} for each of {disks} disks is too much: give a smaller one"
        ))
    })
}

/// The guest's memory, in which a disk may lie.
fn memory(asked: Option<Bytes>, disk: Option<Bytes>) -> Result<Bytes, BadInput> {
    let disk = disk.unwrap_or_default();
    let wanted = (disk.0 + BESIDE_DISK.0).next_multiple_of(STEP.0);
    let memory = asked.unwrap_or_else(|| USUAL_MEMORY.max(Bytes(wanted)));
    let least = Bytes(disk.0 + LEAST_MEMORY.0);
    if memory >= least {
        return Ok(memory);
    }
    let reason = match disk {
        Bytes(0) => String::new(),
        size => format!(", in which a disk of {size} lies"),
    };
    Err(BadInput(format!(
        "--memory {memory} is too little for a guest{reason}; give {least} at least"
    )))
}

fn processors(asked: Option<u32>, clock: Clock) -> Result<u32, BadInput> {
    match (clock, asked) {
        (Clock::Model, None | Some(1)) => Ok(1),
        (Clock::Model, Some(many)) => Err(BadInput(format!(
            "--processors {many}: in model time a machine has one processor"
        ))),
        (Clock::Real, Some(asked)) => Ok(asked),
        (Clock::Real, None) => {
            let here = thread::available_parallelism().map_or(1, |n| n.get() as u32);
            Ok(here.min(USUAL_PROCESSORS))
        }
    }
}

/// A kernel of the user's own may lack what disks are made with.
fn require_modules(guest: &Guest, disk: &GuestDisk, disks: u32) -> Result<(), Refused> {
    let in_memory = matches!(disk, GuestDisk::Model { .. });
    let (module, does, bring) = if in_memory && !guest.has_memory_disks() {
        (
            "null_blk",
            "makes disks in its memory",
            "set CONFIG_BLK_DEV_NULL_BLK to m, or leave model time with --clock real",
        )
    } else if disks > 1 && !guest.can_stripe() {
        (
            guest::STRIPE_MODULE,
            "puts several disks together",
            "set CONFIG_MD_RAID0 to y or m, or leave --disks out",
        )
    } else {
        return Ok(());
    };
    let kernel = guest.release();
    Err(Refused(format!(
        "the guest's kernel ({kernel}) has no module {module}, which {does}: {bring}"
    )))
}

/// A guest that this machine has no memory for would be killed, and its filesystem blamed.
fn require_room(machine: &GuestMachine, available: Option<Bytes>) -> Result<(), Refused> {
    match available {
        Some(available) if machine.memory > available => Err(Refused(format!(
            "a guest of {} does not fit the {available} of memory that are free here: give a smaller --size \
             or --memory",
            machine.memory
        ))),
        _ => Ok(()),
    }
}

/// What is to be said of contenders whose disks are smaller than the campaign's.
pub fn smaller_disks(contenders: &[Contender], size: Bytes, count: u32) -> Option<String> {
    let smaller = contenders.iter().filter_map(|contender| {
        let largest = contender.filesystem.requires.largest?;
        let each = disk_size(contender, size, count, None);
        (largest.0 / u64::from(count) < size.0).then(|| format!("{} one of {each}", contender.name))
    });
    let smaller: Vec<String> = smaller.collect();
    (!smaller.is_empty()).then(|| {
        format!(
            "of disks of {size}, these get a smaller one, the largest that they take: {}",
            smaller.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes() -> Wishes {
        Wishes::default()
    }

    fn refused(outcome: Result<impl std::fmt::Debug, impl Into<anyhow::Error>>) -> String {
        outcome
            .map_err(Into::<anyhow::Error>::into)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn without_a_proof_of_kvm_time_is_that_of_a_model() {
        let no = || Some(Err("it hangs".to_owned()));
        let (time, accelerator, words) = clock(&wishes(), no());
        assert_eq!((time, accelerator), (Clock::Model, Accelerator::Tcg));
        assert_eq!(words, ", for it hangs");
        let (time, accelerator, _) = clock(&wishes(), Some(Ok(())));
        assert_eq!((time, accelerator), (Clock::Real, Accelerator::Kvm));
        let real = Wishes {
            clock: Some(Clock::Real),
            ..wishes()
        };
        let (time, accelerator, words) = clock(&real, no());
        assert_eq!((time, accelerator), (Clock::Real, Accelerator::Tcg));
        assert!(words.contains("times mean little"));
    }

    #[test]
    fn in_model_time_a_disk_is_a_model_and_no_device_of_this_machines() {
        let catalog = Catalog::builtin().unwrap();
        let model = disk(&wishes(), Clock::Model, &catalog).unwrap();
        assert!(matches!(&model, GuestDisk::Model { model } if model.name == "nvme"));
        let device = Wishes {
            device: true,
            ..wishes()
        };
        assert!(refused(disk(&device, Clock::Model, &catalog)).contains("--device means nothing"));
        let cache = DiskCache::None;
        assert_eq!(
            disk(&device, Clock::Real, &catalog).unwrap(),
            GuestDisk::Device { cache }
        );
        let wrong = Wishes {
            disk: Some("nvm".into()),
            ..wishes()
        };
        assert!(refused(disk(&wrong, Clock::Real, &catalog)).contains("`nvme`"));
    }

    #[test]
    fn memory_holds_the_guest_and_the_disk_that_lies_in_it() {
        let mib = Bytes::mib;
        assert_eq!(memory(None, None).unwrap(), mib(1024));
        assert_eq!(memory(None, Some(mib(384))).unwrap(), mib(1024));
        assert_eq!(memory(None, Some(mib(1024))).unwrap(), mib(1536));
        assert_eq!(memory(Some(mib(700)), Some(mib(384))).unwrap(), mib(700));
        let error = refused(memory(Some(mib(512)), Some(mib(384))));
        assert!(
            error.contains("a disk of 384 MiB lies; give 640 MiB at least"),
            "{error}"
        );
        assert!(refused(memory(Some(mib(64)), None)).contains("give 256 MiB at least"));
    }

    #[test]
    fn disks_of_any_size_are_added_up_or_refused() {
        assert_eq!(together(Bytes::mib(3), 8).unwrap(), Bytes::mib(24));
        assert_eq!(together(Bytes::LARGEST, 1).unwrap(), Bytes::LARGEST);
        for (size, disks) in [(Bytes::LARGEST, 2), (Bytes(1 << 62), 8)] {
            assert!(refused(together(size, disks)).contains("smaller"));
        }
        // In memory, the largest is told, too.
        assert!(refused(memory(Some(Bytes::mib(1)), Some(Bytes::LARGEST))).contains("too little"));
    }

    #[test]
    fn in_model_time_there_is_one_processor() {
        assert_eq!(processors(None, Clock::Model).unwrap(), 1);
        assert_eq!(processors(Some(3), Clock::Real).unwrap(), 3);
        assert!(refused(processors(Some(2), Clock::Model)).contains("one processor"));
    }

    #[test]
    fn who_gets_a_smaller_disk_is_said() {
        let catalog = Catalog::builtin().unwrap();
        let contenders = ["fat12", "xfs"].map(|name| catalog.contender(name).unwrap());
        let said = smaller_disks(&contenders, Bytes::mib(384), 1).unwrap();
        assert!(
            said.ends_with("that they take: fat12 one of 255 MiB"),
            "{said}"
        );
        assert_eq!(smaller_disks(&contenders, Bytes::mib(64), 1), None);
    }

    #[test]
    fn what_only_a_guest_can_grant_is_known_by_its_option() {
        assert_eq!(wishes().only_for_guests(), None);
        let disks = Wishes {
            disks: Some(2),
            ..wishes()
        };
        assert_eq!(disks.only_for_guests(), Some("--disks"));
    }
}
