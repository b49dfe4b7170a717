//! Limit on the bytes that a campaign may write to disks of this machine, which wear out. Pure.

use std::fmt;

use model::{Bytes, Campaign};

use crate::plan::cost::Cost;

/// Default write limit: a hundredth of the rated endurance of a small solid-state disk (Samsung SSD
/// 870 EVO, 250 GB: 150 TB, by its data sheet).
pub const DEFAULT_WRITE_LIMIT: Bytes = Bytes(1_500_000_000_000);

/// Default limit as a multiple of the estimate.
const DEFAULT_LIMIT_FACTOR: u64 = 2;

/// Returns true if cells write to disks of this machine, and not to the memory of a guest.
pub fn writes_to_host_disks(campaign: &Campaign) -> bool {
    let guest = campaign.guest.as_ref();
    guest.is_none_or(|guest| guest.model().is_none())
}

/// Returns the write limit of a campaign: the limit given by the user, or else twice the estimate
/// but at most [`DEFAULT_WRITE_LIMIT`]. Returns `None` if the campaign writes only to memory.
///
/// # Errors
/// Returns an error if the campaign would exceed the limit even without repetitions. A limit of the
/// user also includes the metadata that cells may write.
pub fn write_limit(campaign: &Campaign, cost: &Cost) -> Result<Option<Bytes>, WriteLimitExceeded> {
    if !writes_to_host_disks(campaign) {
        return Ok(None);
    }
    let named = campaign.max_written;
    let twice = cost.written().0.saturating_mul(DEFAULT_LIMIT_FACTOR);
    let twice = Bytes(twice.saturating_mul(rounds_within(campaign, cost)));
    let most = named.unwrap_or(DEFAULT_WRITE_LIMIT.min(twice));
    // A limit that the user gave also holds for metadata; the default limit has room for them.
    let metadata = named.map_or(0, |_| cost.metadata.0);
    let min_bytes = Bytes(cost.least_written.0.saturating_add(metadata));
    match min_bytes > most {
        true => Err(WriteLimitExceeded { min_bytes, named }),
        false => Ok(Some(most)),
    }
}

/// Returns the number of rounds that fit into the budget, at least 1. Returns 1 without a budget,
/// because the estimate then covers all rounds.
fn rounds_within(campaign: &Campaign, cost: &Cost) -> u64 {
    let budget = campaign.budget.map_or(0, |budget| budget.0);
    budget.div_ceil(cost.time.0.max(1)).max(1)
}

/// The error that a campaign would exceed its write limit even without repeating phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLimitExceeded {
    /// Bytes written without repetitions.
    pub min_bytes: Bytes,
    /// The limit, if given by the user.
    pub named: Option<Bytes>,
}

impl fmt::Display for WriteLimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = rounded_up(self.min_bytes);
        // Filesystems write more than the data: metadata, journals and the output of mkfs.
        let enough = Bytes(self.min_bytes.0.saturating_add(self.min_bytes.0 / 4));
        match self.named {
            Some(most) => write!(f, "the campaign writes {least}, and --max-written is {most}")?,
            None => write!(
                f,
                "the campaign writes {least}, which wears out disks: more than {} need explicit permission",
                rounded_up(DEFAULT_WRITE_LIMIT)
            )?,
        }
        // No option accepts a size this large.
        let allow = match enough > Bytes::MAX_UNITS {
            true => String::new(),
            false => format!("--max-written \"{}\", or ", rounded_up(enough)),
        };
        write!(f, "; give {allow}a smaller --size, fewer contenders (-c) or fewer --rounds")
    }
}

/// Formats a size with few digits, rounded up.
fn rounded_up(bytes: Bytes) -> String {
    const MB: u64 = 1_000_000;
    match bytes.0 {
        0..10_000_000_000 => format!("{} MB", bytes.0.div_ceil(MB)),
        10_000_000_000..10_000_000_000_000_000 => {
            format!("{} GB", bytes.0.div_ceil(1000 * MB))
        }
        more => format!("{} PB", more.div_ceil(1_000_000_000 * MB)),
    }
}

#[cfg(test)]
mod tests {
    use model::{AccessPattern, CacheState, Io, Nanos, Op, Phase, SyncAtEnd};

    use super::*;
    use crate::plan::cost::cost;
    use crate::plan::fixture;
    use crate::plan::forecast::PastDurations;
    use crate::plan::throughput_model::ThroughputModel;

    #[test]
    fn no_limit_is_suggested_that_cannot_be_given() {
        let of = |least| {
            let too_much = WriteLimitExceeded { min_bytes: Bytes(least), named: None };
            too_much.to_string()
        };
        let huge = of(11_144_907_878_600_000_000);
        assert!(huge.starts_with("the campaign writes 11145 PB, "), "{huge}");
        assert!(huge.ends_with("; give a smaller --size, fewer contenders (-c) or fewer --rounds"));
        let large = of(2_000_000_000_000);
        assert!(large.contains("give --max-written \"2500 GB\", or a smaller --size"), "{large}");
    }

    #[test]
    fn a_budget_limits_writes_by_the_rounds_it_has_time_for() {
        let mut campaign = campaign(1);
        let once = of(&campaign).unwrap().unwrap();
        campaign.budget = Some(Nanos(3 * announced(&campaign).time.0));
        assert_eq!(of(&campaign), Ok(Some(Bytes(3 * once.0))));
        campaign.budget = Some(Nanos(1));
        assert_eq!(of(&campaign), Ok(Some(once)));
    }

    /// Returns a campaign of three contenders and two rounds with one test that writes this many
    /// GB.
    fn campaign(gigabytes: u64) -> Campaign {
        let mut campaign = fixture::campaign(3, 1, 2, 1);
        campaign.suites[0].tests[0].phases = vec![Phase {
            name: "write".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Io(Io {
                size: Some(Bytes(gigabytes * 1_000_000_000)),
                ..Io::new("f", AccessPattern::Write, Bytes(1_000_000))
            }),
        }];
        campaign
    }

    fn announced(campaign: &Campaign) -> Cost {
        cost(campaign, ThroughputModel::default(), &PastDurations::default(), 1)
    }

    fn of(campaign: &Campaign) -> Result<Option<Bytes>, WriteLimitExceeded> {
        write_limit(campaign, &announced(campaign))
    }

    fn named(gigabytes: u64, most: u64) -> Campaign {
        Campaign { max_written: Some(Bytes(most)), ..campaign(gigabytes) }
    }

    #[test]
    fn default_limit_is_twice_the_estimate_up_to_a_maximum() {
        let small = campaign(1);
        let announced = announced(&small).written();
        assert_eq!(of(&small), Ok(Some(Bytes(2 * announced.0))));
        assert_eq!(of(&campaign(200)), Ok(Some(DEFAULT_WRITE_LIMIT)));
        let refused = of(&campaign(300)).unwrap_err();
        assert_eq!(refused.named, None);
        let line = refused.to_string();
        assert!(line.contains("--max-written \"2251 GB\""), "{line}");
        assert!(line.contains("more than 1500 GB"), "{line}");
    }

    #[test]
    fn a_limit_that_is_too_low_is_refused_with_a_sufficient_one() {
        let enough = 6 * 300_000_000_000 + campaign(1).size.0;
        assert_eq!(of(&named(300, enough)), Ok(Some(Bytes(enough))));
        let refused = of(&named(300, enough - 1)).unwrap_err();
        assert_eq!(refused.named, Some(Bytes(enough - 1)));
        let line = of(&named(1, 1_000_000_000)).unwrap_err().to_string();
        assert!(line.contains("--max-written \"7584 MB\""), "{line}");
    }

    #[test]
    fn a_limit_of_the_user_includes_the_metadata_of_synced_writes() {
        let mut campaign = campaign(1);
        let Op::Io(io) = &mut campaign.suites[0].tests[0].phases[0].op else { unreachable!() };
        io.fsync = 1;
        let (data, metadata) = (6_000_000_000 + campaign.size.0, 6 * 1000 * (128 << 10));
        assert_eq!(announced(&campaign).metadata, Bytes(metadata));
        let of = |most| of(&Campaign { max_written: Some(Bytes(most)), ..campaign.clone() });
        assert_eq!(of(data + metadata), Ok(Some(Bytes(data + metadata))));
        assert_eq!(of(data).unwrap_err().min_bytes, Bytes(data + metadata));
    }

    #[test]
    fn writing_to_memory_has_no_limit() {
        let mut campaign = campaign(300);
        campaign.guest = Some(fixture::guest_in_memory());
        assert_eq!(of(&campaign), Ok(None));
    }
}
