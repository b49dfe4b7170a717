//! Parser for the output of Slurm: queue, limits and nodes. Pure.

use super::arrays::{ArrayTask, ClusterLimits};

/// Format of `squeue`: array number, task number, state, node, reason, name.
pub const FORMAT: &str = "%F|%K|%T|%N|%r|%j";
/// Format of `sinfo --Node`: node, processors, memory in MiB, state.
pub const NODES: &str = "%N|%c|%m|%T";

/// A queued task of fsarena.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedTask {
    /// Number of the job array.
    pub job: String,
    /// Number of the task in the array.
    pub number: u32,
    /// The entries that the task runs.
    pub task: ArrayTask,
    /// The reason the task is held and will never start, if it is.
    pub held: Option<String>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmNode {
    /// Its name.
    pub name: String,
    /// Its processors.
    pub processors: u32,
    /// Memory in MiB; 1 if the cluster does not account for memory.
    pub memory: u64,
    /// Whether the node can run jobs.
    pub is_up: bool,
}

/// Returns the job name of an array, which contains its entries so that a later session recognises
/// it.
pub fn name(plan: &str, first: u32, each: u32) -> String {
    format!("fsarena-{plan}-{first}-{each}")
}

/// Parses the output of squeue(1) and returns the tasks of a plan.
pub fn queued(text: &str, plan: &str) -> Vec<QueuedTask> {
    text.lines().filter_map(|line| one(line, plan)).collect()
}

fn one(line: &str, plan: &str) -> Option<QueuedTask> {
    let mut fields = line.splitn(6, '|');
    let (job, number) = (fields.next()?, fields.next()?.parse().ok()?);
    let (_state, _node, reason) = (fields.next()?, fields.next()?, fields.next()?);
    let name = fields.next()?.trim();
    let name = name.strip_prefix("fsarena-")?.strip_prefix(plan)?;
    let (first, each) = name.strip_prefix('-')?.split_once('-')?;
    let (first, each) = (first.parse::<u32>().ok()?, each.parse::<u32>().ok()?);
    if !is_job(job) || each == 0 {
        return None;
    }
    let first = first.checked_add(each.checked_mul(number)?)?;
    let is_held = reason.to_ascii_lowercase().contains("held");
    Some(QueuedTask {
        job: job.to_owned(),
        number,
        task: ArrayTask { first, entries: each },
        held: is_held.then(|| reason.to_owned()),
    })
}

/// Returns true for the number of a job, which is part of paths and an argument of commands.
pub fn is_job(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses the output of `scontrol show config`. Missing limits have the defaults of slurm.conf(5).
pub fn limits(text: &str) -> ClusterLimits {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let (_, value) = lines.find(|(name, _)| name.trim() == key)?;
        value.trim().parse::<u32>().ok()
    };
    ClusterLimits {
        array: value("MaxArraySize").unwrap_or(1001).max(1),
        queued: (value("MaxJobCount").unwrap_or(10_000) / 2).max(1),
    }
}

/// Parses the output of sinfo(1) and returns each node once.
pub fn nodes(text: &str) -> Vec<SlurmNode> {
    let mut nodes: Vec<SlurmNode> = text.lines().filter_map(node).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes.dedup_by(|a, b| a.name == b.name);
    nodes
}

fn node(line: &str) -> Option<SlurmNode> {
    const DOWN: [&str; 4] = ["down", "drain", "fail", "maint"];
    let mut fields = line.trim().split('|');
    let (name, processors) = (fields.next()?, fields.next()?.parse().ok()?);
    let memory = fields.next()?.trim_end_matches('+').parse().ok()?;
    let state = fields.next()?.to_ascii_lowercase();
    Some(SlurmNode {
        name: name.to_owned(),
        processors,
        memory,
        // A node that does not respond (`*`) may do so soon, for example after a restart of the
        // controller.
        is_up: !DOWN.iter().any(|word| state.contains(word)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tasks_of_a_plan_are_known_by_their_names() {
        let text = "5|2|PENDING||Resources|fsarena-abc-0-4\n\
                    5|0|RUNNING|n1|None|fsarena-abc-0-4\n\
                    6|1|PENDING||launch failed requeued held|fsarena-abc-4004-1\n\
                    7|0|RUNNING|n1|None|fsarena-other-0-4\n\
                    --user=root|0|RUNNING|n1|None|fsarena-abc-0-4\n\
                    ../x|0|RUNNING|n1|None|fsarena-abc-0-4\n\
                    9|0|RUNNING|n1|None|fsarena-abc-0-0\n\
                    8|N/A|RUNNING|n2|None|wrap\n";
        let found = queued(text, "abc");
        let tasks: Vec<_> = found.iter().map(|q| (q.task.first, q.task.entries)).collect();
        assert_eq!(tasks, [(8, 4), (0, 4), (4005, 1)]);
        assert_eq!(found[0].held, None);
        assert!(found[2].held.is_some());
        assert_eq!((found[2].job.as_str(), found[2].number), ("6", 1));
        assert_eq!(name("abc", 4004, 1), "fsarena-abc-4004-1");
    }

    #[test]
    fn limits_are_those_of_the_cluster_or_the_usual_ones() {
        let text = "MaxArraySize            = 21\nMaxDBDMsgs = 20\nMaxJobCount             = 100\n";
        assert_eq!(limits(text), ClusterLimits { array: 21, queued: 50 });
        assert_eq!(limits(""), ClusterLimits { array: 1001, queued: 5000 });
    }

    #[test]
    fn nodes_are_up_unless_their_state_is_down() {
        let text = "n1|2|1|idle\nn2|64|256000+|drained\nn3|4|1|mixed\nn3|4|1|mixed\nn4|4|1|idle*\nn5|4|1|down*\n";
        let nodes = nodes(text);
        let up: Vec<_> = nodes.iter().filter(|n| n.is_up).map(|n| &*n.name).collect();
        assert_eq!(up, ["n1", "n3", "n4"]);
        assert_eq!((nodes[1].processors, nodes[1].memory), (64, 256_000));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "(\\PC|\n){0,200}") {
            queued(&text, "abc");
            nodes(&text);
            limits(&text);
        }
    }
}
