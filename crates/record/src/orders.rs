//! Order between threads that communicate through pipes, sockets and locks.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace::{PathId, SyncEvent};

use crate::log::{CallLog, Who};

/// One direction of a pipe or socket, or the lock of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(u32);

/// Latest message of a thread on a channel.
#[derive(Clone, Copy, Debug)]
struct Sent {
    message: u32,
    acted: u64,
}

/// All channels and the messages sent on them.
#[derive(Default)]
pub struct Orders {
    channels: Vec<BTreeMap<u32, Sent>>,
    locks: HashMap<PathId, Channel>,
    messages: u32,
    received: HashSet<(u32, u32)>,
}

impl Orders {
    /// Creates a channel without messages.
    pub fn channel(&mut self) -> Channel {
        self.channels.push(BTreeMap::new());
        Channel(u32::try_from(self.channels.len() - 1).unwrap_or(u32::MAX))
    }

    /// Returns the channel that orders the release of a file's lock before its next acquisition.
    pub fn lock(&mut self, path: PathId) -> Channel {
        if let Some(channel) = self.locks.get(&path) {
            return *channel;
        }
        let channel = self.channel();
        self.locks.insert(path, channel);
        channel
    }

    /// Sends a message: all previous operations of this thread precede the following operations of
    /// a receiver. Does not send a message if the thread has done no operation since its last
    /// message on this channel.
    pub fn send(&mut self, log: &mut CallLog, who: Who, channel: Channel) {
        let acted = log.acted(who.thread);
        let sent = &mut self.channels[channel.0 as usize];
        let is_known = sent.get(&who.thread).map_or(acted == 0, |sent| sent.acted == acted);
        if is_known {
            return;
        }
        let message = self.messages;
        self.messages += 1;
        sent.insert(who.thread, Sent { message, acted });
        log.push_order(who, SyncEvent::Send { message });
    }

    /// Records that a thread receives the messages of a channel. The amount of data in the channel
    /// is not examined, because even unread messages were sent earlier.
    pub fn receive(&mut self, log: &mut CallLog, who: Who, channel: Channel) {
        for (sender, sent) in &self.channels[channel.0 as usize] {
            let message = sent.message;
            if *sender != who.thread && self.received.insert((who.thread, message)) {
                log.push_order(who, SyncEvent::Receive { message });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use trace::{Syscall, SyscallResult};

    use super::*;

    #[test]
    fn sends_only_new_messages_and_delivers_each_once() {
        let (mut log, mut orders) = (CallLog::new(), Orders::default());
        let channel = orders.channel();
        let who = |thread| Who { process: 0, thread };
        let act = |log: &mut CallLog| {
            log.push(who(0), Nanos(0), Syscall::SyncAll, SyscallResult::Ok(0));
        };
        orders.send(&mut log, who(0), channel);
        assert!(log.operations.is_empty(), "no operation precedes this message");
        for _ in 0..2 {
            act(&mut log);
            for _ in 0..3 {
                orders.send(&mut log, who(0), channel);
            }
            for receiver in [0, 1, 2, 1] {
                orders.receive(&mut log, who(receiver), channel);
            }
        }
        let calls: Vec<_> = log.operations.iter().map(|o| (o.thread, &o.call)).collect();
        let sends = |message| Syscall::Order(SyncEvent::Send { message });
        let receives = |message| Syscall::Order(SyncEvent::Receive { message });
        let expected = [
            (0, &Syscall::SyncAll),
            (0, &sends(0)),
            (1, &receives(0)),
            (2, &receives(0)),
            (0, &Syscall::SyncAll),
            (0, &sends(1)),
            (1, &receives(1)),
            (2, &receives(1)),
        ];
        assert_eq!(calls, expected);
    }
}
