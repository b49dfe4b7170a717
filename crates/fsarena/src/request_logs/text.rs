//! A journal as text that can be read back: CSV, the format of blkparse, and the records of both as
//! Parquet.

use std::collections::BTreeMap;

use model::Nanos;
use simdisk::request_log::LoggedRequest;
use simdisk::{CompletedRequest, DiskRequest, RequestKind, SimulatedDisk, TimeComponent};

use super::{Journal, in_order};

/// CSV header of a journal.
const CSV_HEAD: &str = "arrived_ns,phase,disk,operation,sector,sectors,forced,metadata,journal,depth,time_ns,waiting_ns,\
                        command_ns,seek_ns,rotation_ns,transfer_ns,flash_ns,collection_ns,flush_ns";

impl Journal {
    /// Renders one line for each request, with its time components.
    pub fn csv(&self) -> String {
        let mut text = format!("{CSV_HEAD}\n");
        for fields in self.records() {
            text += &fields.join(",");
            text.push('\n');
        }
        text
    }

    /// Returns the fields of each CSV line.
    fn records(&self) -> impl Iterator<Item = Vec<String>> {
        self.entries.iter().map(|(phase, entry)| {
            let CompletedRequest { request, parts, .. } = entry.served;
            let mut fields = vec![
                request.arrived.0.to_string(),
                phase.clone().unwrap_or_default(),
                entry.disk.to_string(),
                request.operation.name().to_owned(),
                request.sector.to_string(),
                request.sectors.to_string(),
                u8::from(request.forced).to_string(),
                u8::from(entry.is_metadata()).to_string(),
                u8::from(entry.is_journal()).to_string(),
                entry.depth.to_string(),
                entry.served.time().0.to_string(),
            ];
            fields.extend(parts.iter().map(|part| part.0.to_string()));
            fields
        })
    }

    /// Returns the records as an Apache Parquet file: integers, and text for phase and operation.
    /// Requests outside of phases have a null phase.
    ///
    /// # Errors
    /// Returns an error with the reason if the library fails.
    #[cfg(feature = "parquet")]
    pub fn parquet(&self) -> Result<Vec<u8>, String> {
        let kind = |name| match name {
            "phase" | "operation" => report::ParquetKind::Text,
            _ => report::ParquetKind::Whole,
        };
        let columns = CSV_HEAD.split(',').map(|name| (name, kind(name)));
        let mut table = report::ParquetTable::new(columns);
        for fields in self.records() {
            table.push(&fields);
        }
        table.file()
    }

    /// Returns an error, because this build has no Parquet support.
    #[cfg(not(feature = "parquet"))]
    pub fn parquet(&self) -> Result<Vec<u8>, String> {
        Err(crate::output::output_file::NO_PARQUET.to_owned())
    }

    /// Renders the journal like blkparse(1): one line when a request is issued (D) and one when it
    /// completes (C).
    pub fn blkparse(&self) -> String {
        let mut events: Vec<(Nanos, char, &LoggedRequest)> = Vec::new();
        for (_, entry) in &self.entries {
            events.push((entry.served.request.arrived, 'D', entry));
            events.push((entry.served.completed, 'C', entry));
        }
        events.sort_by_key(|(time, action, _)| (*time, *action));
        let begin = events.first().map_or(0, |(time, ..)| time.0);
        let mut text = String::new();
        for (number, (time, action, entry)) in (1..).zip(events) {
            let since = time.0 - begin;
            let request = &entry.served.request;
            let place = match request.operation {
                RequestKind::Flush => String::new(),
                _ => format!("{} + {} ", request.sector, request.sectors),
            };
            text += &format!(
                "{:>3},{:<3} {:>2} {number:>8} {:>5}.{:09} {:>5} {action:>2} {:>3} {place}[fsarena]\n",
                0,
                entry.disk,
                0,
                since / 1_000_000_000,
                since % 1_000_000_000,
                0,
                kind(entry)
            );
        }
        text
    }

    /// Parses the output of [`Journal::csv`].
    ///
    /// # Errors
    /// Returns an error if the text has another format. The error names the line.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(CSV_HEAD) {
            return Err("its first line is not that of a journal of fsarena".to_owned());
        }
        let mut entries = Vec::new();
        for (number, line) in (2..).zip(lines) {
            let entry = entry_of(line).ok_or_else(|| format!("line {number} is no request"))?;
            entries.push(entry);
        }
        match entries.is_empty() {
            true => Err("it holds no request".to_owned()),
            false => Ok(Self { entries: in_order(entries), disk: None, timed: BTreeMap::new() }),
        }
    }
}

/// Returns `RWBS` of blkparse(1): the operation and its flags.
fn kind(entry: &LoggedRequest) -> String {
    let operation = match entry.served.request.operation {
        RequestKind::Read => "R",
        RequestKind::Write => "W",
        RequestKind::Flush => "F",
        RequestKind::Discard => "D",
    };
    let forced = if entry.served.request.forced { "F" } else { "" };
    let metadata = if entry.is_metadata() { "M" } else { "" };
    format!("{operation}{forced}{metadata}")
}

/// Maximum completion time of a request, in nanoseconds: 146 years.
const LATEST: u64 = 1 << 62;
/// Maximum number of sectors of a disk: 512 TiB.
const LAST: u64 = 1 << 40;

/// Parses a line of a journal. Returns `None` if it is malformed or inconsistent: the time
/// components of a request must add up to its total.
fn entry_of(line: &str) -> Option<(Option<String>, LoggedRequest)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [
        arrived,
        phase,
        disk,
        operation,
        sector,
        sectors,
        forced,
        metadata,
        journal,
        depth,
        time,
        parts @ ..,
    ] = &fields[..]
    else {
        return None;
    };
    let mut own = [Nanos(0); TimeComponent::ALL.len()];
    if parts.len() != own.len() {
        return None;
    }
    for (to, from) in own.iter_mut().zip(parts) {
        *to = Nanos(from.parse().ok()?);
    }
    let arrived: u64 = arrived.parse().ok()?;
    let time: u64 = time.parse().ok()?;
    let operation = RequestKind::ALL.into_iter().find(|o| o.name() == *operation)?;
    let forced = *forced == "1";
    let (sector, sectors): (u64, u32) = (sector.parse().ok()?, sectors.parse().ok()?);
    let moves = operation != RequestKind::Flush;
    let is_no_request = (sectors > SimulatedDisk::MAX_MECHANISM
        && operation != RequestKind::Discard)
        || (sectors == 0) == moves;
    let completed = arrived.checked_add(time)?;
    let mut sum = own.iter().map(|part| part.0);
    if sum.try_fold(0, u64::checked_add)? != time
        || completed > LATEST
        || sector.checked_add(sectors.into())? > LAST
        || is_no_request
    {
        return None;
    }
    let entry = LoggedRequest {
        served: CompletedRequest {
            request: DiskRequest {
                arrived: Nanos(arrived),
                operation,
                sector,
                sectors,
                forced,
                tag: 0,
            },
            completed: Nanos(completed),
            parts: own,
        },
        depth: depth.parse().ok()?,
        flags: LoggedRequest::flags(forced, *metadata == "1", *journal == "1"),
        disk: disk.parse().ok()?,
    };
    let phase = (!phase.is_empty()).then(|| (*phase).to_owned());
    Some((phase, entry))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn journal() -> Journal {
        let entry = |arrived, operation, sector, sectors, forced| LoggedRequest {
            served: CompletedRequest {
                request: DiskRequest {
                    arrived: Nanos(arrived),
                    operation,
                    sector,
                    sectors,
                    forced,
                    tag: 0,
                },
                completed: Nanos(arrived + 36),
                parts: [1, 2, 3, 4, 5, 6, 7, 8].map(Nanos),
            },
            depth: 1,
            flags: LoggedRequest::flags(forced, sector == 8, sector == 16),
            disk: 0,
        };
        let phase = Some("write".to_owned());
        Journal {
            entries: vec![
                (None, entry(1_000_000_100, RequestKind::Read, 8, 8, false)),
                (phase.clone(), entry(1_000_000_200, RequestKind::Write, 16, 8, true)),
                (phase, entry(1_000_000_300, RequestKind::Flush, 0, 0, false)),
            ],
            disk: None,
            timed: BTreeMap::new(),
        }
    }

    #[test]
    fn a_journal_as_text_reads_back() {
        assert_eq!(Journal::from_csv(&journal().csv()).unwrap(), journal());
        let error = Journal::from_csv(&format!("{CSV_HEAD}\n1,2\n")).unwrap_err();
        assert_eq!(error, "line 2 is no request");
        let huge = u64::MAX.to_string();
        let whole = "0,,0,write,8,8,0,0,0,1,1,1,0,0,0,0,0,0,0";
        assert!(Journal::from_csv(&format!("{CSV_HEAD}\n{whole}\n")).is_ok());
        for wrong in [
            "0,,0,write,8,8,0,0,0,1,2,1,0,0,0,0,0,0,0".to_owned(),
            whole.replacen('0', &huge, 1),
            whole.replacen("write,8", &format!("write,{huge}"), 1),
            whole.replacen("write,8,8", "write,8,4096", 1),
            whole.replacen("write,8,8", "write,8,0", 1),
            whole.replacen("write,8,8", "flush,0,8", 1),
        ] {
            let error = Journal::from_csv(&format!("{CSV_HEAD}\n{wrong}\n")).unwrap_err();
            assert_eq!(error, "line 2 is no request", "{wrong}");
        }
        assert!(Journal::from_csv("a,b\n").is_err());
        assert!(Journal::from_csv(CSV_HEAD).is_err());
        assert_eq!(journal().for_phase("write").unwrap().entries.len(), 2);
        let error = journal().for_phase("read").unwrap_err().0;
        assert!(error.ends_with("phases with requests: write"), "{error}");
    }

    #[test]
    fn blkparse_would_print_the_same() {
        let expected = "  0,0    0        1     0.000000000     0  D  RM 8 + 8 [fsarena]\n\
                        \x20 0,0    0        2     0.000000036     0  C  RM 8 + 8 [fsarena]\n\
                        \x20 0,0    0        3     0.000000100     0  D  WF 16 + 8 [fsarena]\n\
                        \x20 0,0    0        4     0.000000136     0  C  WF 16 + 8 [fsarena]\n\
                        \x20 0,0    0        5     0.000000200     0  D   F [fsarena]\n\
                        \x20 0,0    0        6     0.000000236     0  C   F [fsarena]\n";
        assert_eq!(journal().blkparse(), expected);
    }
}
