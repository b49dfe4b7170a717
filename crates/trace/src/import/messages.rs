//! Messages through pipes and local sockets: a reader depends on all that the writer did before.

use std::collections::{BTreeMap, HashMap};

use super::line::descriptor;
use super::tasks::StraceImporter;
use crate::trace::SyncEvent;

/// Latest message of a thread through a pipe or a socket.
struct Sent {
    message: u32,
    acted: u64,
}

/// Messages in a pipe or a socket.
#[derive(Default)]
pub struct Channel {
    /// Latest message of each sending thread.
    latest: BTreeMap<u32, Sent>,
    /// Senders of these messages.
    senders: BTreeMap<u32, u32>,
    /// Number after the last message that each thread has received.
    received: HashMap<u32, u32>,
}

impl StraceImporter {
    /// Records a write to a pipe or a socket: all previous operations of the thread precede the following ones
    /// of a reader. Records nothing if the thread has done no operation since its last write.
    pub(super) fn sent(&mut self, task: u32, at: u64, channel: Vec<u8>) {
        let (thread, acted) = (self.task(task).number, self.task(task).acted);
        let channel = self.channels.entry(channel).or_default();
        let before = channel.latest.get(&thread);
        if before.map_or(acted == 0, |sent| sent.acted == acted) {
            return;
        }
        if let Some(before) = before {
            channel.senders.remove(&before.message);
        }
        let message = self.messages;
        self.messages += 1;
        channel.latest.insert(thread, Sent { message, acted });
        channel.senders.insert(message, thread);
        self.order(task, at, SyncEvent::Send { message });
    }

    /// Records a read from a pipe or a socket, or of its end of file. The amount of data is not
    /// examined, because even unread messages were sent earlier.
    pub(super) fn received(&mut self, task: u32, at: u64, channel: &[u8]) {
        let thread = self.task(task).number;
        let Some(channel) = self.channels.get_mut(channel) else { return };
        let first = channel.received.insert(thread, self.messages).unwrap_or(0);
        let sent = channel.senders.range(first..);
        let from_others = sent.filter(|(_, sender)| **sender != thread);
        let messages: Vec<u32> = from_others.map(|(message, _)| *message).collect();
        for message in messages {
            self.order(task, at, SyncEvent::Receive { message });
        }
    }

    /// Returns the name of the pipe to which a descriptor refers, or the number of the local socket
    /// that receives. Returns `None` for other descriptors.
    pub(super) fn channel(&mut self, argument: &[u8], writes: bool) -> Option<Vec<u8>> {
        let path = descriptor(argument)?.1?;
        if path.starts_with(b"UNIX-") {
            // `UNIX-STREAM:[12->34,"/name"]`: this socket and its peer.
            let mut numbers = path.split(|byte| !byte.is_ascii_digit()).filter(|n| !n.is_empty());
            return numbers.nth(usize::from(writes)).map(<[u8]>::to_vec);
        }
        (path.starts_with(b"pipe:[") || self.is_named_pipe(&path)).then_some(path)
    }
}
