//! Replay of a recorded trace.

use serde::{Deserialize, Serialize};

use super::keys::{choice, name, optional};
use super::{
    FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName, WorkEstimate,
};
use crate::{Bytes, CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// Replay a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replay {
    /// Name of the trace.
    pub trace: String,
    /// Name of the directory in which the trace is replayed. It is created.
    pub into: String,
    /// Start times of the operations.
    #[serde(default)]
    pub pace: ReplaySpeed,
    /// Speed relative to the recording, if the pace is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
    /// The workload category; `None` if the suite does not specify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<WorkloadCategory>,
    /// Properties of the trace, read before a campaign starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<TraceStats>,
    /// The trace file in base64, for transfer to the host of the replay. Not stored in campaigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Start times of the operations of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReplaySpeed {
    /// Each operation starts as soon as the operations that must precede it have ended.
    #[default]
    Closed,
    /// Each operation starts no earlier than at its recorded time.
    Recorded,
    /// Scaled by the speed.
    Scaled,
}

/// Properties of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceStats {
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Operations.
    pub operations: u64,
    /// Number of operations that wait for a device.
    pub syncs: u64,
    /// Bytes read by the operations.
    pub read: Bytes,
    /// Bytes written, including files that exist before the start.
    pub written: Bytes,
    /// Total size of all files before or after the replay, whichever is larger.
    pub space: Bytes,
}

impl Replay {
    fn read(keys: &dyn KeySource) -> Result<Op, KeyError> {
        const PACES: [(&str, ReplaySpeed); 3] = [
            ("closed", ReplaySpeed::Closed),
            ("recorded", ReplaySpeed::Recorded),
            ("scaled", ReplaySpeed::Scaled),
        ];
        let trace = name(keys, "trace")?;
        let into = optional(keys, "into", name)?;
        Ok(Op::Replay(Self {
            into: into.unwrap_or_else(|| trace.clone()),
            trace,
            pace: optional(keys, "pace", |keys, key| choice(keys, key, &PACES))?
                .unwrap_or_default(),
            speed: optional(keys, "speed", |keys, key| keys.factor(key))?,
            group: optional(keys, "group", |keys, key| {
                choice(keys, key, &WorkloadCategory::WORDS)
            })?,
            facts: None,
            data: None,
        }))
    }

    /// Returns the speed relative to the recording, or `None` if operations start as soon as
    /// possible.
    pub fn speed(&self) -> Option<f64> {
        match self.pace {
            ReplaySpeed::Closed => None,
            ReplaySpeed::Recorded => Some(1.0),
            ReplaySpeed::Scaled => Some(self.speed.unwrap_or(1.0)),
        }
    }
}

impl OpInfo for Replay {
    fn op_names() -> &'static [OpName] {
        &[OpName {
            name: "replay",
            keys: &["trace", "into", "pace", "speed", "group"],
            read: Self::read,
        }]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let facts = self.facts.clone().unwrap_or_default();
        files.add(ObjectKind::Replayed, &self.into, 1, facts.space.0);
        WorkEstimate {
            read: facts.read,
            written: facts.written,
            operations: facts.operations,
            syncs: facts.syncs,
        }
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.replay(self)
    }

    /// The suite specifies the workload category of a trace.
    fn group(&self) -> Option<WorkloadCategory> {
        self.group
    }

    fn secondary_metrics(&self) -> Option<Metric> {
        Some(Metric::LatencyP99)
    }

    /// The existing files were just written.
    fn allowed_caches(&self) -> &'static [CacheState] {
        &[CacheState::Warm]
    }

    fn default_end(&self) -> Option<(CacheState, SyncAtEnd)> {
        Some((CacheState::Warm, SyncAtEnd::Syncfs))
    }

    fn check(&self) -> Result<(), String> {
        match (self.pace, self.speed) {
            (ReplaySpeed::Scaled, None) => {
                Err("`pace = \"scaled\"` needs `speed`, such as 2.0".into())
            }
            (ReplaySpeed::Closed | ReplaySpeed::Recorded, Some(_)) => {
                Err("`speed` is for `pace = \"scaled\"`".into())
            }
            (ReplaySpeed::Recorded | ReplaySpeed::Scaled, _) if self.group.is_some() => Err(
                "`group` is for `pace = \"closed\"`: another pace is not how fast a filesystem is"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}
