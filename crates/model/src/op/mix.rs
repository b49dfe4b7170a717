//! Several concurrent roles, as FFSB and filebench describe servers. The threads of a role repeat a
//! cycle of steps, as fast as possible or at a rate.

use serde::{Deserialize, Serialize};

use super::keys::{count, flag, name, optional, threads};
use super::mix_step::MixStep;
use super::{
    FsState, KeyError, KeySource, ObjectKind, Op, OpExecutor, OpInfo, OpName, WorkEstimate,
};
use crate::{CacheState, Metric, WorkloadCategory};

/// Maximum number of threads of all roles.
const MAX_THREADS: u32 = 1024;

/// Concurrent roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mix {
    /// The roles.
    pub roles: Vec<Role>,
    /// The role whose last cycle ends the mix; the other roles repeat their cycles until then. If
    /// absent, each role runs its number of cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether the data that was read is verified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
}

/// Threads with the same cycle of steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Role {
    /// The name, unique in the mix.
    pub name: String,
    /// Its threads.
    pub threads: u32,
    /// Number of cycles of all its threads.
    pub cycles: u64,
    /// Intended cycles per second over all its threads. With a rate (the open loop), latency counts
    /// from the intended start. If absent (the closed loop), each cycle starts after the previous
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The set of files that the role uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The file whose blocks the role uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Steps of a cycle, in order.
    pub steps: Vec<MixStep>,
}

/// Result of a role as a separate phase after its mix. It takes no time; the values are those
/// measured for the role in the mix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoleResult {
    /// The phase of the mix.
    #[serde(rename = "of")]
    pub mix_phase: String,
    /// The role.
    pub role: String,
    /// The whole mix, because the concurrent roles affect the result.
    pub mix: Mix,
}

impl Mix {
    /// The keys of a role.
    pub const ROLE_KEYS: [&'static str; 7] =
        ["name", "threads", "cycles", "rate", "set", "file", "steps"];

    /// Returns a role by name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// Returns the mix with only this role, which runs its number of cycles.
    #[must_use]
    pub fn only(&self, role: &Role) -> Self {
        Self { roles: vec![role.clone()], until: None, verify: self.verify }
    }

    /// Returns true if a role runs until another role ends, instead of running its number of
    /// cycles.
    pub fn runs_until_others_end(&self, role: &Role) -> bool {
        self.until.as_ref().is_some_and(|until| *until != role.name)
    }

    /// Returns true if any role creates, removes or modifies files of a set. Each thread then has
    /// separate files in it.
    pub fn changes_set(&self, set: &str) -> bool {
        self.roles_of_set(set).any(Role::changes_files)
    }

    /// Returns the roles that use a set.
    pub fn roles_of_set<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Role> {
        let roles = self.roles.iter();
        roles.filter(move |role| role.set.as_deref() == Some(set))
    }

    /// Returns the sets of all roles without duplicates.
    pub fn sets(&self) -> Vec<&str> {
        once_each(self.roles.iter().filter_map(|role| role.set.as_deref()))
    }

    /// Returns the files of all roles without duplicates.
    pub fn files(&self) -> Vec<&str> {
        once_each(self.roles.iter().filter_map(|role| role.file.as_deref()))
    }

    fn follow_set(&self, set: &str, files: &mut FsState) {
        let changes = self.changes_set(set);
        let found = files.find_dynamic(set);
        let threads: u64 = self.roles_of_set(set).map(|role| u64::from(role.threads)).sum();
        let each = match changes {
            true => found.entries / threads.max(1),
            false => found.entries,
        };
        for role in self.roles_of_set(set) {
            let needed = role.files_needed();
            if each < needed {
                files.reject(format!(
                    "role `{}` needs {needed} files of `{set}` for each thread; there are {each}",
                    role.name
                ));
            }
        }
    }

    /// Records the state of a set after the roles have changed it.
    fn change_set(&self, set: &str, files: &mut FsState) {
        let mut left = files.mixed(set);
        let mean = left.bytes.checked_div(left.entries).unwrap_or(0);
        for role in self.roles_of_set(set) {
            let files = role.cycles.saturating_mul(role.net().unsigned_abs());
            let bytes = files.saturating_mul(mean);
            (left.entries, left.bytes) = match role.net() < 0 {
                true => (left.entries.saturating_sub(files), left.bytes.saturating_sub(bytes)),
                false => (left.entries.saturating_add(files), left.bytes.saturating_add(bytes)),
            };
            left.bytes = left.bytes.saturating_add(role.appended());
        }
        if self.changes_set(set) {
            files.set_mixed(set, left);
        }
    }
}

impl Role {
    /// Returns the work of all its cycles.
    fn work(&self, files: &FsState) -> WorkEstimate {
        let set = self.set.as_deref().map(|set| files.mixed(set));
        let mean = set.map_or(0, |set| set.bytes.checked_div(set.entries).unwrap_or(0));
        let each = self.steps.iter().map(|step| step.work(mean));
        let cycle = each.fold(WorkEstimate::new(0, 0, 1), |sum, work| sum + work);
        cycle * self.cycles
    }

    /// Returns true if any step writes.
    pub fn writes(&self) -> bool {
        self.steps.iter().any(MixStep::writes)
    }

    /// Returns true if any step creates, removes or modifies files of its set.
    pub fn changes_files(&self) -> bool {
        self.steps.iter().any(MixStep::changes_files)
    }

    /// Returns true if a step waits for the device.
    pub fn syncs(&self) -> bool {
        self.steps.iter().any(MixStep::syncs)
    }

    /// Returns true if it appends to a private log.
    pub fn appends_to_log(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, MixStep::Log(_)))
    }

    /// Returns true if a step reads its file sequentially from the device.
    pub fn reads_sequentially(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step, MixStep::Stream(_)))
    }

    /// Returns the primary metric.
    pub fn primary_metric(&self) -> Metric {
        match self.rate {
            Some(_) => Metric::LatencyP99,
            None if self.reads_sequentially() => Metric::Throughput,
            None => Metric::Rate,
        }
    }

    /// Returns a secondary metric for tables, if any.
    fn beside(&self) -> Option<Metric> {
        match self.primary_metric() {
            _ if self.syncs() => Some(Metric::SyncP99),
            Metric::LatencyP99 => None,
            _ => Some(Metric::LatencyP99),
        }
    }

    /// Returns the metric that shows interference by other roles: the time of its syncs, else the
    /// primary metric.
    pub fn interference_metric(&self) -> Metric {
        match self.syncs() {
            true => Metric::SyncP99,
            false => self.primary_metric(),
        }
    }

    /// Returns the number of files of its set that a cycle creates minus the number that it
    /// removes.
    fn net(&self) -> i64 {
        self.steps.iter().map(MixStep::net_files).sum()
    }

    /// Returns the minimum number of files per thread at the start, so that every step finds a file
    /// in the set.
    fn files_needed(&self) -> u64 {
        let mut there = 0;
        let mut needed = 0;
        for step in &self.steps {
            if matches!(step, MixStep::Open | MixStep::Stat | MixStep::Delete) {
                needed = needed.max(1 - there);
            }
            there += step.net_files();
        }
        let cycles = self.cycles.div_ceil(u64::from(self.threads.max(1)));
        let before_last = cycles.saturating_sub(1);
        let removed = before_last.saturating_mul((-self.net()).max(0).unsigned_abs());
        needed.max(0).unsigned_abs().saturating_add(removed)
    }

    /// Returns the bytes appended to files of its set; an upper bound if files are removed.
    fn appended(&self) -> u64 {
        self.bytes_of(|step| matches!(step, MixStep::Append(_)))
    }

    /// Returns the bytes appended to its log.
    fn logged(&self) -> u64 {
        self.bytes_of(|step| matches!(step, MixStep::Log(_)))
    }

    /// Returns the bytes of the selected steps, over all cycles.
    fn bytes_of(&self, wanted: impl Fn(&MixStep) -> bool) -> u64 {
        let sizes = self.steps.iter().filter(|step| wanted(step));
        let sizes = sizes.filter_map(MixStep::size).map(|size| size.0);
        let cycle = sizes.fold(0, u64::saturating_add);
        self.cycles.saturating_mul(cycle)
    }

    /// Checks that its steps are valid in their order.
    fn check(&self) -> Result<(), String> {
        let mut state = CycleState::default();
        let (set, file) = (self.set.is_some(), self.file.is_some());
        for step in &self.steps {
            state
                .admit(step, set, file)
                .map_err(|why| format!("role `{}`: step `{step}` {why}", self.name))?;
        }
        if state.open {
            return Err(format!("role `{}`: a cycle ends with its file closed", self.name));
        }
        if self.steps.iter().all(|step| matches!(step, MixStep::Sleep(_))) {
            return Err(format!("role `{}` does nothing", self.name));
        }
        for (given, key, used) in [(set, "set", state.uses_set), (file, "file", state.uses_file)] {
            if given && !used {
                return Err(format!("role `{}`: no step uses its `{key}`", self.name));
            }
        }
        Ok(())
    }

    /// Checks whether it may run without a fixed number of cycles. Returns an error with the reason
    /// if not.
    fn is_endless(&self) -> Result<(), String> {
        let appends = |step: &MixStep| matches!(step, MixStep::Log(_) | MixStep::Append(_));
        match self.net() != 0 || self.steps.iter().any(appends) {
            true => Err(format!(
                "role `{}` runs until another one has finished, so it may neither append nor change the number of files",
                self.name
            )),
            false => Ok(()),
        }
    }
}

/// State within a cycle, which determines the possible next steps.
#[derive(Clone, Copy, Debug, Default)]
struct CycleState {
    open: bool,
    /// Whether the open file is new and empty.
    empty: bool,
    /// Whether a file was used that can be synced.
    worked: bool,
    uses_set: bool,
    uses_file: bool,
}

impl CycleState {
    fn admit(&mut self, step: &MixStep, set: bool, file: bool) -> Result<(), &'static str> {
        use MixStep::{
            Append, Close, Create, Delete, Fdatasync, Fsync, Log, Open, RandomRead, RandomWrite,
            Read, Sleep, Stat, Stream, Write,
        };
        match step {
            Create | Open | Stat | Delete if !set => return Err("needs a `set`"),
            Create | Open | Stat | Delete if self.open => {
                return Err("comes while a file is open: `close` it before");
            }
            Write if !self.empty => return Err("needs a file that `create` has just made"),
            Append(_) | Read | Close if !self.open => {
                return Err("needs a file that is open: `open` or `create` one before");
            }
            RandomRead(_) | RandomWrite(_) | Stream(_) if !file => return Err("needs a `file`"),
            Fsync | Fdatasync if !self.worked => return Err("has nothing to sync"),
            _ => {}
        }
        match step {
            Create => (self.open, self.empty, self.worked) = (true, true, true),
            Open => (self.open, self.worked) = (true, true),
            Write | Append(_) => self.empty = false,
            Close => (self.open, self.empty, self.worked) = (false, false, false),
            RandomRead(_) | RandomWrite(_) | Stream(_) | Log(_) => self.worked = true,
            Read | Stat | Delete | Fsync | Fdatasync | Sleep(_) => {}
        }
        self.uses_set |= matches!(step, Create | Open | Stat | Delete);
        self.uses_file |= matches!(step, RandomRead(_) | RandomWrite(_) | Stream(_));
        Ok(())
    }
}

fn once_each<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

fn read(keys: &dyn KeySource) -> Result<Op, KeyError> {
    let mut roles = Vec::new();
    keys.tables("role", &Mix::ROLE_KEYS, &mut |role| {
        roles.push(read_role(role)?);
        Ok(())
    })?;
    Ok(Op::Mix(Mix { roles, until: optional(keys, "until", name)?, verify: flag(keys, "verify")? }))
}

fn read_role(keys: &dyn KeySource) -> Result<Role, KeyError> {
    let mut steps = Vec::new();
    keys.texts("steps", &mut |text| {
        steps.push(text.parse()?);
        Ok(())
    })?;
    Ok(Role {
        name: name(keys, "name")?,
        threads: threads(keys, "threads")?,
        cycles: count(keys, "cycles")?,
        rate: optional(keys, "rate", count)?,
        set: optional(keys, "set", name)?,
        file: optional(keys, "file", name)?,
        steps,
    })
}

impl OpInfo for Mix {
    fn op_names() -> &'static [OpName] {
        &[OpName {
            name: "mix",
            // `alone` creates additional phases, which the loader adds.
            keys: &["role", "until", "verify", "alone"],
            read,
        }]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        for set in self.sets() {
            self.follow_set(set, files);
        }
        for file in self.files() {
            files.find(ObjectKind::File, file);
        }
        // The resulting files and contents depend on the progress of each role, so the change
        // cannot be undone.
        if self.roles.iter().any(Role::writes) {
            let logged = self.roles.iter().map(Role::logged);
            files.change_unknown(logged.fold(0, u64::saturating_add), 0);
        }
        let works = self.roles.iter().map(|role| role.work(files));
        let work = works.fold(WorkEstimate::default(), |sum, work| sum + work);
        for set in self.sets() {
            self.change_set(set, files);
        }
        work
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.mix(self)
    }

    /// A mix belongs to several workload categories.
    fn group(&self) -> Option<WorkloadCategory> {
        None
    }

    fn primary_metric(&self) -> Metric {
        match &self.roles[..] {
            [alone] => alone.primary_metric(),
            _ => Metric::Elapsed,
        }
    }

    fn secondary_metrics(&self) -> Option<Metric> {
        match &self.roles[..] {
            [alone] => alone.beside(),
            _ => None,
        }
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm]
    }

    fn check(&self) -> Result<(), String> {
        let threads = self.roles.iter().map(|role| role.threads);
        if threads.fold(0, u32::saturating_add) > MAX_THREADS {
            return Err(format!("a mix has at most {MAX_THREADS} threads"));
        }
        for (number, role) in self.roles.iter().enumerate() {
            if self.roles[..number].iter().any(|r| r.name == role.name) {
                return Err(format!("there are two roles `{}`", role.name));
            }
            role.check()?;
            if self.runs_until_others_end(role) {
                role.is_endless()?;
            }
        }
        match &self.until {
            _ if self.roles.is_empty() => Err("a mix has one `role` at least".into()),
            Some(until) if self.role(until).is_none() => {
                Err(format!("`until` names no role: `{until}`"))
            }
            _ => Ok(()),
        }
    }

    fn threads(&self) -> u32 {
        let threads = self.roles.iter().map(|role| role.threads);
        threads.fold(0, u32::saturating_add)
    }
}

impl OpInfo for RoleResult {
    /// The loader adds it after a mix; suite files do not contain it.
    fn op_names() -> &'static [OpName] {
        &[]
    }

    fn apply(&self, _: &mut FsState) -> WorkEstimate {
        WorkEstimate::default()
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        Err(executor.unsupported("a role is performed with its mix"))
    }

    fn group(&self) -> Option<WorkloadCategory> {
        None
    }

    fn primary_metric(&self) -> Metric {
        let role = self.mix.role(&self.role);
        role.map_or(Metric::Elapsed, Role::primary_metric)
    }

    fn secondary_metrics(&self) -> Option<Metric> {
        self.mix.role(&self.role).and_then(Role::beside)
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        self.mix.allowed_caches()
    }

    fn threads(&self) -> u32 {
        self.mix.role(&self.role).map_or(1, |role| role.threads)
    }
}

#[cfg(test)]
#[path = "mix_tests.rs"]
mod tests;
