//! Labels of the reports: names and definitions of metrics, states and rules.

use jiff::Timestamp;
use model::{
    CacheState, Clock, Direction, DriverKind, FACT_TITLES, Feature, Metric, Nanos, NativeReader,
    OperatingSystem, PosixClass, SyncAtEnd,
};
use stats::{
    Analysis, ContenderFeatures, FeatureSupport, FlippedBitRecord, Interval, PowerCutRecord,
    RankingState, RobustEstimate,
};

use crate::text::sanitize::sanitize_line;

/// A power cut that a test simulates.
pub(crate) const POWER_CUT: &str = "simulated power cut";

/// Start of the text about a contender that lost files in power cuts.
pub(crate) const LOST_FILES: &str = "lost synced files in";

/// Returns what a contender lost in power cuts, as a predicate. Measurements of the catalog came
/// before the campaign.
pub(crate) fn power_cuts(record: &PowerCutRecord) -> String {
    let earlier = if record.shipped.is_some() { "earlier " } else { "" };
    let cuts = pluralize(u64::from(record.cuts), &format!("{earlier}{POWER_CUT}"));
    match record.lost {
        0 => format!("lost no synced file in {cuts}"),
        lost => format!("{LOST_FILES} {lost} of {cuts}"),
    }
}

/// Returns whether a contender noticed flipped bits in data.
pub(crate) fn flipped_bits(record: &FlippedBitRecord) -> String {
    let FlippedBitRecord { flipped, undetected } = record;
    match undetected {
        0 => format!("yes: noticed {flipped} of {flipped} flipped bits"),
        missed => format!("no: missed {missed} of {flipped} flipped bits"),
    }
}

/// Returns the title of a metric above a chart.
pub(crate) const fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "Throughput",
        Metric::Rate => "Operations per second",
        Metric::Elapsed => "Elapsed time",
        Metric::Capacity => "Usable capacity",
        Metric::Survived => "Survived",
        Metric::Supported => "Supported",
        Metric::Cpu => "Processor, agent",
        Metric::CpuDriver => "Processor, driver",
        Metric::CpuMachine => "Processor, machine",
        Metric::CpuPerOperation => "Processor, each operation",
        Metric::MinorFaults => "Minor page faults",
        Metric::MajorFaults => "Major page faults",
        Metric::LatencyP50 => "Latency, median",
        Metric::LatencyP90 => "Latency, 90 %",
        Metric::LatencyP95 => "Latency, 95 %",
        Metric::LatencyP99 => "Latency, 99 %",
        Metric::LatencyP999 => "Latency, 99.9 %",
        Metric::LatencyP9999 => "Latency, 99.99 %",
        Metric::LatencyMax => "Latency, worst",
        Metric::LatencyMean => "Latency, mean",
        Metric::LatencyAbove2s => "Operations above 2 s",
        Metric::LatencyAbove10s => "Operations above 10 s",
        Metric::Stall => "Longest stall",
        Metric::TimeToSteady => "Time to the steady state",
        Metric::SteadyThroughput => "Throughput, steady",
        Metric::SteadyRate => "Operations per second, steady",
        Metric::FirstFinish => "First host finished",
        Metric::StonewallThroughput => "Throughput until the first host finished",
        Metric::StonewallRate => "Operations per second until the first host finished",
        Metric::SyncP50 => "Syncs, median",
        Metric::SyncP95 => "Syncs, 95 %",
        Metric::SyncP99 => "Syncs, 99 %",
        Metric::SyncMax => "Syncs, worst",
        Metric::OpenMean => "Opening a file, mean",
        Metric::OpenMax => "Opening a file, worst",
        Metric::CloseMean => "Closing a file, mean",
        Metric::CloseMax => "Closing a file, worst",
        Metric::DeviceRead => "Read from the device",
        Metric::DeviceWritten => "Written to the device",
        Metric::DeviceFlushes => "Flushes of the device",
        Metric::WriteAmplification => "Write amplification",
        Metric::SpaceTaken => "Space taken",
        Metric::Compression => "Compression",
        Metric::MemoryKernel => "Memory, kernel",
        Metric::MemoryDriver => "Memory, driver",
        Metric::ExtentsPerFile => "Extents per file",
        Metric::LayoutScore => "Layout score",
    }
}

/// Returns the definition of a metric, with its unit.
pub(crate) const fn definition(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => {
            "Bytes moved between program and filesystem, divided by elapsed time; bytes per \
             second, 1 MB = 10⁶ bytes."
        }
        Metric::Rate => "Operations done, divided by elapsed time; per second.",
        Metric::Elapsed => {
            "Wall time from the first system call to the end of the phase as stated there; seconds."
        }
        Metric::Capacity => {
            "Bytes that an ordinary user may fill (statfs, f_bavail), as a share of the device; \
             per cent."
        }
        Metric::Survived => {
            "Power cuts without a loss, disk faults without wrong data that no call reported, or synced files \
             of a full filesystem, as a share of all; per cent."
        }
        Metric::Supported => "1 where the feature was tried and worked.",
        Metric::Cpu => {
            "User and system time of the agent and of the programs it ran, as a share of elapsed \
             time; per cent of one processor."
        }
        Metric::CpuDriver => {
            "Processor time of the filesystem's own processes (a FUSE driver), as a share of \
             elapsed time; per cent of one processor."
        }
        Metric::CpuMachine => {
            "Busy time of all processors together, write-back threads and all, as a share of \
             elapsed time; per cent of one processor, so above 100 on several."
        }
        Metric::CpuPerOperation => {
            "User and system time of the agent, of the programs it ran and of the filesystem's own \
             processes, divided by operations; seconds. Work that the kernel does in threads of its \
             own, such as writing back, is not in it."
        }
        Metric::MinorFaults => {
            "Page faults of the agent and its programs that needed no input; a count."
        }
        Metric::MajorFaults => {
            "Page faults of the agent and its programs that waited for input; a count."
        }
        Metric::LatencyP50 => "Median latency of an operation; seconds.",
        Metric::LatencyP90 => "90th percentile of operation latency; seconds.",
        Metric::LatencyP95 => "95th percentile of operation latency; seconds.",
        Metric::LatencyP99 => "99th percentile of operation latency; seconds.",
        Metric::LatencyP999 => "99.9th percentile of operation latency; seconds.",
        Metric::LatencyP9999 => "99.99th percentile of operation latency; seconds.",
        Metric::LatencyMax => "The slowest single operation; seconds.",
        Metric::LatencyMean => "The mean over all operations; seconds.",
        Metric::LatencyAbove2s => {
            "Operations that took longer than 2 s, as a share of all; per cent."
        }
        Metric::LatencyAbove10s => {
            "Operations that took longer than 10 s, as a share of all; per cent."
        }
        Metric::Stall => {
            "Longest time without a finished operation, in a phase of at least 10 s; seconds. One that is shorter than an interval of the values over time may be missed."
        }
        Metric::TimeToSteady => {
            "Time until five successive windows differ by at most 20 % of their mean and their fitted line changes by at most 10 % (SNIA, steady state), in a phase of at least 10 s; seconds. Without a value, the phase never was steady."
        }
        Metric::SteadyThroughput => {
            "Bytes moved since the start of the steady state, divided by the time since then; bytes per second."
        }
        Metric::SteadyRate => {
            "Operations since the start of the steady state, divided by the time since then; per second."
        }
        Metric::FirstFinish => {
            "Time until the first of several hosts has finished the phase, from their common start; seconds. The elapsed time is that of the last."
        }
        Metric::StonewallThroughput => {
            "Bytes of all hosts until the first has finished, divided by that time; bytes per second."
        }
        Metric::StonewallRate => {
            "Operations of all hosts until the first has finished, divided by that time; per second."
        }
        Metric::SyncP50 => "Median latency of the syncs in the cycles of a role; seconds.",
        Metric::SyncP95 => {
            "95th percentile of the latency of syncs in the cycles of a role; seconds."
        }
        Metric::SyncP99 => {
            "99th percentile of the latency of syncs in the cycles of a role; seconds."
        }
        Metric::SyncMax => "The slowest single sync in the cycles of a role; seconds.",
        Metric::OpenMean | Metric::OpenMax => {
            "Time to open a file for requests. It is not included in the throughput, unless stated for the phase; seconds."
        }
        Metric::CloseMean | Metric::CloseMax => {
            "Time to close a file after its requests. It is not included in the throughput, unless stated for the phase; seconds."
        }
        Metric::DeviceRead => {
            "Bytes read from the block device during the phase, by its own counter."
        }
        Metric::DeviceWritten => {
            "Bytes that the block device was given during the phase, by its own counter."
        }
        Metric::DeviceFlushes => {
            "Flush requests that the block device got during the phase; a count."
        }
        Metric::WriteAmplification => {
            "Bytes written to the device for each byte that the program wrote; a ratio."
        }
        Metric::SpaceTaken => {
            "Free space before the phase less free space after it (statfs); bytes, negative if space was freed."
        }
        Metric::Compression => {
            "Bytes written to new files for each byte of free space that they took (statfs), if their content compresses (`--data`); a ratio."
        }
        Metric::MemoryKernel => {
            "Growth of the kernel's object caches (inodes, directory entries, buffer heads, extents) from before the filesystem was created to the end of the phase. Only in guests; without kmalloc, whole pages, code and the page cache; bytes."
        }
        Metric::MemoryDriver => {
            "Private memory of the filesystem's processes (a FUSE driver) at the end of the phase: heap and stacks, without program text; bytes."
        }
        Metric::ExtentsPerFile => {
            "Number of pieces of a file on the device, on average over up to 500 of the files that exist after the last phase that wrote, before the unmount; adjacent pieces count as one (FIEMAP, else FIBMAP)."
        }
        Metric::LayoutScore => {
            "Share of the 4 KiB blocks of these files, except the first block of each, that directly follow the previous block (Smith and Seltzer, 1997); percent, 100 if each file is one piece."
        }
    }
}

/// Returns the better direction, for a caption.
pub(crate) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
        Direction::Neutral => "explains, is not ranked",
    }
}

/// Returns the better direction as an arrow, for a table.
pub(crate) const fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "↑",
        Direction::Lower => "↓",
        Direction::Neutral => "",
    }
}

/// Returns the cache state, for a caption.
pub(crate) const fn cache(state: CacheState) -> &'static str {
    match state {
        CacheState::Cold => "cold cache",
        CacheState::Warm => "warm cache",
        CacheState::Direct => "past the cache",
        CacheState::FadviseDontNeed => "cache dropped on request",
        CacheState::None => "no files involved",
        CacheState::Unknown => "cache not stated",
    }
}

/// All cache states with their definitions.
pub(crate) const CACHES: [(CacheState, &str); 6] = [
    (
        CacheState::Cold,
        "The filesystem was unmounted, the kernel's caches were dropped, and it was mounted again \
         before the phase.",
    ),
    (CacheState::Warm, "The caches are as the phase before left them."),
    (CacheState::Direct, "Requests pass the page cache by (O_DIRECT)."),
    (
        CacheState::FadviseDontNeed,
        "The kernel was asked to drop the data of each file (posix_fadvise); it may still hold metadata. Used if the filesystem must stay mounted.",
    ),
    (CacheState::None, "No file is read or written: making, mounting, unmounting, checking."),
    (CacheState::Unknown, "The source does not state the contents of the caches."),
];

/// Returns the end of a phase, for a caption.
pub(crate) const fn end(end: SyncAtEnd) -> &'static str {
    match end {
        SyncAtEnd::Call => "ends with the last call",
        SyncAtEnd::Fsync => "ends with fsync",
        SyncAtEnd::Syncfs => "ends with syncfs",
        SyncAtEnd::Unknown => "end not stated",
    }
}

/// All kinds of sync at the end of a phase, with their definitions.
pub(crate) const ENDS: [(SyncAtEnd, &str); 4] = [
    (
        SyncAtEnd::Call,
        "The clock stops when the last system call returns; data may still be in memory only.",
    ),
    (
        SyncAtEnd::Fsync,
        "The clock stops when fsync of the file has returned: its data is on the device.",
    ),
    (
        SyncAtEnd::Syncfs,
        "The clock stops when syncfs of the filesystem has returned: all its data is on the \
         device.",
    ),
    (SyncAtEnd::Unknown, "The source does not state when the clock stops."),
];

/// Returns the reason why the contenders of a row are not ranked, if it needs an explanation.
pub(crate) const fn not_ranked(ranking: RankingState) -> Option<&'static str> {
    match ranking {
        RankingState::Ranked | RankingState::NoDirection => None,
        RankingState::TimeLimited => Some("not ranked: a time limit cut some short"),
        RankingState::TooFast => Some("not ranked: some ended too soon to be timed"),
        RankingState::DifferentCaches => Some("not ranked: measured in different cache states"),
    }
}

/// Returns the class of a filesystem: native or foreign, with or without POSIX semantics.
pub(crate) fn class(found: &ContenderFeatures) -> &'static str {
    match (found.class, is_foreign(found)) {
        (PosixClass::Baseline, _) => "baseline",
        (PosixClass::NotProbed, _) => "POSIX features not all tested",
        (PosixClass::Posix, false) => "native, POSIX semantics",
        (PosixClass::Posix, true) => "foreign, POSIX semantics",
        (PosixClass::PartialPosix, false) => "native, POSIX semantics in part",
        (PosixClass::PartialPosix, true) => "foreign, POSIX semantics in part",
    }
}

/// Returns true for a filesystem of another system, judged by its semantics or by the other systems
/// that can read it.
pub(crate) fn is_foreign(found: &ContenderFeatures) -> bool {
    use OperatingSystem::{AmigaOs, MacOs, Windows};
    let is_its_home = |reader: &NativeReader| matches!(reader.system, Windows | MacOs | AmigaOs);
    let is_of_linux =
        found.facts.origin.as_ref().is_some_and(|origin| origin.system.starts_with("Linux"));
    found.facts.read_by.iter().any(is_its_home)
        || (found.class == PosixClass::PartialPosix && !is_of_linux)
}

/// Explanation of the classes.
pub(crate) const CLASSES: &str = "POSIX semantics are permissions, owners, hard links, symbolic links and special \
    files; a filesystem that lacks one of them has them in part. Foreign means that Windows, \
    macOS or AmigaOS reads it, or that it has them in part and is not from Linux.";

/// Returns the result of probing a feature.
pub(crate) fn found(found: &FeatureSupport) -> String {
    match found {
        FeatureSupport::Yes => "yes".to_owned(),
        FeatureSupport::UpTo(size) => size.format_limit(),
        FeatureSupport::No(reason) => format!("no: {}", sanitize_line(reason)),
        FeatureSupport::Varies(reason) => format!("varies: {}", sanitize_line(reason)),
        FeatureSupport::NotProbed => "not tried".to_owned(),
    }
}

/// Returns true if features were tried. Results of other programs do not cover features.
pub(crate) fn has_tried(analysis: &Analysis) -> bool {
    let features = analysis.features.iter().flat_map(|c| &c.features);
    let mut tried = features.filter(|state| state.found != FeatureSupport::NotProbed);
    !analysis.measured_elsewhere || tried.next().is_some()
}

/// Returns the abilities of a contender and the catalog's facts about it, in one line.
pub(crate) fn abilities(contender: &ContenderFeatures, tried: bool) -> String {
    let facts = FACT_TITLES.iter().zip(contender.facts.to_lines());
    let said = facts.filter(|(_, line)| !line.is_empty());
    let said = said.map(|(fact, line)| format!("{} {}", fact.to_lowercase(), sanitize_line(&line)));
    let largest = contender.features.iter().filter(|state| state.feature == Feature::LargestFile);
    let here = largest.into_iter().find_map(|state| match state.found {
        FeatureSupport::UpTo(size) => Some(format!("files here up to {}", size.format_limit())),
        _ => None,
    });
    let class = tried.then(|| class(contender).to_owned());
    let checks = contender.flipped_bits.as_ref();
    let checks = checks.map(|record| format!("checksums of data {}", flipped_bits(record)));
    class.into_iter().chain(here).chain(checks).chain(said).collect::<Vec<_>>().join("; ")
}

/// Joins items into a list: `Linux`, `Linux and OS/2`, `Linux, macOS and OS/2`.
pub(crate) fn join_and<T: ToString>(things: &[T]) -> String {
    let words: Vec<String> = things.iter().map(T::to_string).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// Returns the kind of driver of a filesystem.
pub(crate) const fn driver(driver: DriverKind) -> &'static str {
    match driver {
        DriverKind::Kernel => "kernel",
        DriverKind::Fuse => "FUSE",
    }
}

/// Returns the name of a feature in the feature table.
pub(crate) const fn feature(feature: Feature) -> &'static str {
    match feature {
        Feature::HardLinks => "Hard links",
        Feature::Symlinks => "Symbolic links",
        Feature::Permissions => "Permissions",
        Feature::Ownership => "Ownership",
        Feature::SpecialFiles => "Special files",
        Feature::Xattrs => "Extended attributes",
        Feature::SparseFiles => "Sparse files",
        Feature::CaseSensitive => "Case-sensitive names",
        Feature::LongNames => "Names of 255 bytes",
        Feature::DirectIo => "Direct I/O",
        Feature::SharedMmap => "Shared memory maps",
        Feature::Preallocation => "Preallocation",
        Feature::LargestFile => "Largest file here",
        Feature::PosixAcls => "Access control lists",
        Feature::Timestamps => "Times before 1970, after 2038",
        Feature::Utf8Names => "Names in UTF-8",
        Feature::XattrSize => "Largest extended attribute",
        Feature::ManyLinks => "65,001 links to a file",
    }
}

/// Formats a share as a percentage with two digits: `5 %`, `0.31 %`, `120 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = match percent.abs() {
        0.0 => 0,
        size => (1.0 - size.log10().floor()).clamp(0.0, 6.0) as usize,
    };
    let text = format!("{percent:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} %")
}

/// Formats nanoseconds since 1970 as `2026-03-14 15:09 UTC`; 0 means "not stated".
pub fn moment(since_1970: Nanos) -> String {
    match since_1970.0 {
        0 => "not stated".to_owned(),
        _ => timestamp(since_1970).strftime("%Y-%m-%d %H:%M UTC").to_string(),
    }
}

/// Formats nanoseconds since 1970 as `14 Mar 2026`.
pub(crate) fn day(since_1970: Nanos) -> String {
    timestamp(since_1970).strftime("%-d %b %Y").to_string()
}

fn timestamp(since_1970: Nanos) -> Timestamp {
    Timestamp::from_nanosecond(since_1970.0.into()).unwrap_or_default()
}

/// Text in place of an interval, if all rounds have the same value.
pub(crate) const NO_VARIATION: &str = "same in each round";

/// Formats the interval of an estimate. Returns [`NO_VARIATION`] if all rounds have the same value.
pub(crate) fn interval(estimate: &RobustEstimate, number: impl Fn(f64) -> String) -> String {
    let Interval { low, high, .. } = estimate.interval;
    match estimate.rounds > 1 && estimate.variation == Some(0.0) {
        true => NO_VARIATION.to_owned(),
        false => format!("{} … {}", number(low), number(high)),
    }
}

/// Returns the replicates of an interval: in virtual time, rounds differ only by their seeds.
pub(crate) fn replicates(clock: Clock, rounds: u32) -> String {
    match (clock, rounds) {
        (Clock::Virtual, 2..) => format!("{rounds} rounds of different seeds"),
        _ => pluralize(rounds, "round"),
    }
}

/// Returns a count with its noun: `1 round`, `3 rounds`.
pub fn pluralize(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn metrics_have_unique_titles_and_definitions_in_sentences() {
        let titles: BTreeSet<_> = Metric::ALL.into_iter().map(title).collect();
        assert_eq!(titles.len(), Metric::ALL.len());
        for metric in Metric::ALL {
            assert!(definition(metric).ends_with('.'), "{metric}");
        }
    }

    #[test]
    fn a_percentage_has_two_digits() {
        let shares = [0.05, 0.0031, 1.2, 0.0, 0.96875, 0.75, 0.025, 0.00001];
        let shown = ["5 %", "0.31 %", "120 %", "0 %", "97 %", "75 %", "2.5 %", "0.001 %"];
        assert_eq!(shares.map(percent), shown);
    }

    #[test]
    fn known_moments() {
        let shown = |seconds| moment(Nanos::from_secs(seconds));
        assert_eq!(shown(0), "not stated");
        assert_eq!(shown(60), "1970-01-01 00:01 UTC");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(shown(1_760_000_000), "2025-10-09 08:53 UTC");
        assert_eq!(moment(Nanos(u64::MAX)), "2554-07-21 23:34 UTC");
        assert_eq!(day(Nanos::from_secs(1_759_600_000)), "4 Oct 2025");
    }

    #[test]
    fn intervals_in_virtual_time_are_from_seeds() {
        assert_eq!(replicates(Clock::Real, 3), "3 rounds");
        assert_eq!(replicates(Clock::Virtual, 3), "3 rounds of different seeds");
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(pluralize(1u32, "round"), "1 round");
        assert_eq!(pluralize(0u32, "cell"), "0 cells");
    }
}
