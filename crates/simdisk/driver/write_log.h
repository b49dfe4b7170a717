/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A log of everything that was written to the disks, from which each state can be rebuilt that a loss of power could
 * leave (crates/simdisk/src/write_log.rs). Only the module fsarena_disk_recorder has it; the driver of all other cells
 * is compiled without it, so that their virtual time does not change.
 *
 * /dev/fsarena_writes takes the commands "start BYTES", "stop" and "mark NUMBER", and gives the entries to one reader.
 * A full log drops entries and counts them in the next entry that is read: its state is then unusable.
 *
 * Other commands let requests fail with an I/O error: "fail read SECTOR COUNT" each read of these sectors, until they
 * are written again, as a disk then uses a spare block; "fail write FROM COUNT" and "fail flush FROM COUNT" so many
 * requests, numbered from 1 since the command. "fail off" ends all. A failed write changes no byte of the disk.
 */

/* An entry. A write is followed by its new bytes and then by the bytes that it replaced. */
struct write_entry {
	u64 sector;
	u64 number;	/* of the request, or of the mark */
	u32 sectors;
	u8 kind;
	u8 flags;
	u16 disk;
};

enum { WRITE_SUBMITTED = 1, FLUSH_SUBMITTED = 2, COMPLETED = 3, MARKED = 4, DROPPED = 5, STARTED = 6 };
enum { FLAG_FAILED = 16 };

static struct {
	u8 *bytes;
	size_t room;
	size_t used;
	size_t taken;
	u64 requests;
	u64 dropped;
	bool on;
	spinlock_t lock;
} write_log;

static DEFINE_MUTEX(write_log_user);

/* Requests that fail. `seen` counts requests since the command. */
struct failing {
	u64 from;
	u64 count;
	u64 seen;
};

static struct {
	struct failing writes;
	struct failing flushes;
	u64 sector;
	u64 sectors;
} faults;

/* Counts a request and returns true if it fails. The lock of the log is held, as in the two functions below. */
static bool fails(struct failing *failing)
{
	return ++failing->seen >= failing->from && failing->seen - failing->from < failing->count;
}

static bool is_unreadable(const struct request *rq)
{
	return blk_rq_pos(rq) < faults.sector + faults.sectors &&
	       faults.sector < blk_rq_pos(rq) + blk_rq_sectors(rq);
}

static bool covers_unreadable(const struct request *rq)
{
	return blk_rq_pos(rq) <= faults.sector &&
	       faults.sector + faults.sectors <= blk_rq_pos(rq) + blk_rq_sectors(rq);
}

static bool read_fails(const struct request *rq)
{
	unsigned long irq;
	bool failed;

	spin_lock_irqsave(&write_log.lock, irq);
	failed = faults.sectors && is_unreadable(rq);
	spin_unlock_irqrestore(&write_log.lock, irq);
	return failed;
}

static int command_faults(const char *text)
{
	u64 from, count;

	if (sscanf(text, "read %llu %llu", &from, &count) == 2) {
		faults.sector = from;
		faults.sectors = count;
	} else if (sscanf(text, "write %llu %llu", &from, &count) == 2) {
		faults.writes = (struct failing){ .from = from, .count = count };
	} else if (sscanf(text, "flush %llu %llu", &from, &count) == 2) {
		faults.flushes = (struct failing){ .from = from, .count = count };
	} else if (!strncmp(text, "off", 3)) {
		memset(&faults, 0, sizeof(faults));
	} else {
		return -EINVAL;
	}
	return 0;
}

/* Returns room for an entry with so many bytes behind it; NULL if the log is off or full. The lock is held. */
static u8 *log_entry(struct write_entry entry, size_t behind)
{
	size_t size = sizeof(entry) + behind;
	u8 *at;

	if (!write_log.on)
		return NULL;
	if (write_log.room - write_log.used < size) {
		write_log.dropped++;
		return NULL;
	}
	at = write_log.bytes + write_log.used;
	memcpy(at, &entry, sizeof(entry));
	write_log.used += size;
	return at + sizeof(entry);
}

static void log_completion(u64 number)
{
	unsigned long irq;

	spin_lock_irqsave(&write_log.lock, irq);
	log_entry((struct write_entry){ .number = number, .kind = COMPLETED }, 0);
	spin_unlock_irqrestore(&write_log.lock, irq);
}

/* Copies a write into the store and logs both its bytes and those that it replaces. A write that fails is only logged. */
static void copy_and_log(const struct drive *drive, struct request *rq, struct carried *carried)
{
	size_t size = blk_rq_bytes(rq);
	u8 *store = drive->store + (blk_rq_pos(rq) << SECTOR_BITS);
	unsigned long irq;
	u8 *behind;

	spin_lock_irqsave(&write_log.lock, irq);
	carried->logged = ++write_log.requests;
	carried->failed = fails(&faults.writes);
	behind = log_entry((struct write_entry){
				   .sector = blk_rq_pos(rq),
				   .number = carried->logged,
				   .sectors = blk_rq_sectors(rq),
				   .kind = WRITE_SUBMITTED,
				   .flags = flags_of(rq) | (carried->failed ? FLAG_FAILED : 0),
				   .disk = drive->number,
			   }, 2 * size);
	if (behind)
		memcpy(behind + size, store, size);
	if (behind || !carried->failed)
		copy(drive, rq);
	if (behind)
		memcpy(behind, store, size);
	if (behind && carried->failed)
		memcpy(store, behind + size, size);
	if (!carried->failed && covers_unreadable(rq))
		faults.sectors = 0;
	spin_unlock_irqrestore(&write_log.lock, irq);
}

static void log_flush(const struct drive *drive, struct carried *carried)
{
	unsigned long irq;

	spin_lock_irqsave(&write_log.lock, irq);
	carried->logged = ++write_log.requests;
	carried->failed = fails(&faults.flushes);
	log_entry((struct write_entry){
			  .number = carried->logged,
			  .kind = FLUSH_SUBMITTED,
			  .flags = carried->failed ? FLAG_FAILED : 0,
			  .disk = drive->number,
		  }, 0);
	spin_unlock_irqrestore(&write_log.lock, irq);
}

/* Begins an empty log, in memory that is kept until the module ends. Its first entry describes the disk: the bytes that
 * it writes whole or not at all, and whether a loss of power empties its cache. */
static int start_write_log(size_t room)
{
	if (room > write_log.room) {
		u8 *bytes = vmalloc(room);

		if (!bytes)
			return -ENOMEM;
		vfree(write_log.bytes);
		write_log.bytes = bytes;
		write_log.room = room;
	}
	write_log.used = 0;
	write_log.taken = 0;
	write_log.dropped = 0;
	write_log.on = true;
	log_entry((struct write_entry){
			  .sectors = numbers.kind == FSD_FLASH ? 4096 : 512,
			  .kind = STARTED,
			  .flags = numbers.cache && !(numbers.kind == FSD_FLASH && numbers.flash.protected),
		  }, 0);
	return 0;
}

static ssize_t command_write_log(struct file *file, const char __user *from, size_t size, loff_t *position)
{
	char text[64];
	unsigned long irq;
	u64 number;
	int error = 0;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	text[size] = 0;
	mutex_lock(&write_log_user);
	if (sscanf(text, "start %llu", &number) == 1) {
		write_log.on = false;
		error = start_write_log(number);
	} else if (sscanf(text, "mark %llu", &number) == 1) {
		spin_lock_irqsave(&write_log.lock, irq);
		log_entry((struct write_entry){ .number = number, .kind = MARKED }, 0);
		spin_unlock_irqrestore(&write_log.lock, irq);
	} else if (!strncmp(text, "fail ", 5)) {
		spin_lock_irqsave(&write_log.lock, irq);
		error = command_faults(text + 5);
		spin_unlock_irqrestore(&write_log.lock, irq);
	} else if (!strncmp(text, "stop", 4)) {
		spin_lock_irqsave(&write_log.lock, irq);
		write_log.on = false;
		spin_unlock_irqrestore(&write_log.lock, irq);
	} else {
		error = -EINVAL;
	}
	mutex_unlock(&write_log_user);
	return error ? error : size;
}

/* Gives bytes of the log in order. What has been read makes room as soon as all of it has. */
static ssize_t read_write_log(struct file *file, char __user *to, size_t size, loff_t *position)
{
	unsigned long irq;
	size_t length;

	mutex_lock(&write_log_user);
	spin_lock_irqsave(&write_log.lock, irq);
	length = min(size, write_log.used - write_log.taken);
	spin_unlock_irqrestore(&write_log.lock, irq);
	if (length && copy_to_user(to, write_log.bytes + write_log.taken, length)) {
		mutex_unlock(&write_log_user);
		return -EFAULT;
	}
	spin_lock_irqsave(&write_log.lock, irq);
	write_log.taken += length;
	if (write_log.taken == write_log.used) {
		write_log.taken = 0;
		write_log.used = 0;
		if (write_log.dropped && write_log.on) {
			u64 dropped = write_log.dropped;

			write_log.dropped = 0;
			log_entry((struct write_entry){ .number = dropped, .kind = DROPPED }, 0);
		}
	}
	spin_unlock_irqrestore(&write_log.lock, irq);
	mutex_unlock(&write_log_user);
	return length;
}

static const struct file_operations write_log_operations = {
	.owner = THIS_MODULE,
	.read = read_write_log,
	.write = command_write_log,
};

static struct miscdevice write_log_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fsarena_writes",
	.fops = &write_log_operations,
	.mode = 0600,
};
