// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A block device in memory that takes its time from a mechanism (disk.h).
 *
 * Bytes lie in memory that the kernel does not manage (memmap=), behind them the journal. A request is copied when it
 * comes and ends when the mechanism says: what copying and the mechanism itself cost the processor is no part of its
 * time, as it would be none with a controller that copies; own_ns counts it.
 *
 * The driver is for one processor or few: a lock, one queue, one timer for each disk.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#endif

#include "disk.h"

#define NAME "fsarena_disk"
#define DISKS 26
#define SECTOR_BITS 9

static char *parameters;
module_param(parameters, charp, 0);
MODULE_PARM_DESC(parameters, "struct fsd_parameters in hexadecimal");
static ulong base;
module_param(base, ulong, 0);
MODULE_PARM_DESC(base, "physical address of the memory that the kernel does not manage");
static uint disks = 1;
module_param(disks, uint, 0);
MODULE_PARM_DESC(disks, "how many, one behind the other");
static ulong journal_bytes;
module_param(journal_bytes, ulong, 0);
MODULE_PARM_DESC(journal_bytes, "memory behind the disks for the journal");
static bool forced;
module_param(forced, bool, 0);
MODULE_PARM_DESC(forced, "whether the disks take forced writes; else the kernel flushes behind them");

/* What the journal holds of a request; crates/disk/src/journal.rs reads it. */
struct record {
	u64 arrived;
	u64 completed;
	u64 sector;
	u32 sectors;
	u16 depth;	/* requests that the disk held, with this one */
	u8 operation;
	u8 flags;
	u32 disk;
	u32 reserved;
	u64 part[FSD_PARTS];
};

enum { FLAG_FORCED = 1, FLAG_META = 2, FLAG_SYNC = 4, FLAG_AHEAD = 8 };

/* What a request carries. */
struct carried {
	struct list_head done;
	u16 depth;
	u8 flags;
#ifdef FSARENA_WRITE_LOG
	u64 logged;
	bool failed;
#endif
};

struct drive {
	struct gendisk *gendisk;
	struct blk_mq_tag_set tags;
	struct fsd_disk *disk;
	struct request *by_tag[FSD_REQUESTS];
	u8 *store;
	u32 number;
	u32 held;
	u64 own_ns;
	spinlock_t lock;
	struct hrtimer timer;
};

static struct fsd_parameters numbers;
static struct drive drives[DISKS];
static u8 *memory;
static int major;

/* A ring: first is read next, and so many records are there. */
static struct {
	struct record *record;
	u64 room;
	u64 first;
	u64 count;
	u64 lost;
	spinlock_t lock;
} journal;

static void note(const struct drive *drive, const struct fsd_request *r, const struct carried *carried)
{
	struct record *record;
	unsigned long irq;

	spin_lock_irqsave(&journal.lock, irq);
	if (journal.count == journal.room) {
		journal.lost++;
	} else {
		record = &journal.record[(journal.first + journal.count++) % journal.room];
		*record = (struct record){
			.arrived = r->arrived,
			.completed = r->completed,
			.sector = r->sector,
			.sectors = r->sectors,
			.depth = carried->depth,
			.operation = r->operation,
			.flags = carried->flags,
			.disk = drive->number,
		};
		memcpy(record->part, r->part, sizeof(record->part));
	}
	spin_unlock_irqrestore(&journal.lock, irq);
}

#ifdef FSARENA_WRITE_LOG
static u8 flags_of(const struct request *rq);
static void copy(const struct drive *drive, struct request *rq);
#include "write_log.h"
#define STATUS_OF(carried) ((carried)->failed ? BLK_STS_IOERR : BLK_STS_OK)
#else
#define STATUS_OF(carried) BLK_STS_OK
#endif

/* Lets happen what has happened by now, and puts the requests into a list that are done. */
static void advance(struct drive *drive, u64 now, struct list_head *done)
{
	struct fsd_request r;

	while (fsd_next(drive->disk) <= now) {
		struct request *rq;
		struct carried *carried;

		if (!fsd_step(drive->disk, &r))
			continue;
		rq = drive->by_tag[r.tag];
		carried = blk_mq_rq_to_pdu(rq);
		drive->by_tag[r.tag] = NULL;
		drive->held--;
		note(drive, &r, carried);
#ifdef FSARENA_WRITE_LOG
		if (r.operation == FSD_WRITE || r.operation == FSD_FLUSH)
			log_completion(carried->logged);
#endif
		list_add_tail(&carried->done, done);
	}
}

/* Without a request in it, a disk is left alone until the next comes: it catches up then. */
static void arm(struct drive *drive)
{
	u64 next = fsd_next(drive->disk);

	if (drive->held && next != FSD_NEVER)
		hrtimer_start(&drive->timer, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

static void end_all(struct list_head *done)
{
	struct carried *carried, *next;

	list_for_each_entry_safe(carried, next, done, done)
		blk_mq_end_request(blk_mq_rq_from_pdu(carried), STATUS_OF(carried));
}

/* The processor's time since it was `since`, without what was counted meanwhile in an interrupt. */
static void count_own(struct drive *drive, u64 since, u64 own_then)
{
	drive->own_ns += ktime_get_ns() - since - (drive->own_ns - own_then);
}

static enum hrtimer_restart on_time(struct hrtimer *timer)
{
	struct drive *drive = container_of(timer, struct drive, timer);
	u64 now = ktime_get_ns(), own = drive->own_ns;
	unsigned long irq;
	LIST_HEAD(done);

	spin_lock_irqsave(&drive->lock, irq);
	advance(drive, now, &done);
	arm(drive);
	spin_unlock_irqrestore(&drive->lock, irq);
	count_own(drive, now, own);
	end_all(&done);
	return HRTIMER_NORESTART;
}

static void copy(const struct drive *drive, struct request *rq)
{
	u8 *at = drive->store + (blk_rq_pos(rq) << SECTOR_BITS);
	struct req_iterator iterator;
	struct bio_vec segment;

	rq_for_each_segment(segment, rq, iterator) {
		if (rq_data_dir(rq) == WRITE)
			memcpy_from_bvec(at, &segment);
		else
			memcpy_to_bvec(&segment, at);
		at += segment.bv_len;
	}
}

/* The mechanism's word for what a request asks; -1 where it has none. */
static int operation_of(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return FSD_READ;
	case REQ_OP_WRITE:
		return FSD_WRITE;
	case REQ_OP_FLUSH:
		return FSD_FLUSH;
	case REQ_OP_DISCARD:
		return FSD_DISCARD;
	default:
		return -1;
	}
}

static u8 flags_of(const struct request *rq)
{
	return (rq->cmd_flags & REQ_FUA ? FLAG_FORCED : 0) | (rq->cmd_flags & REQ_META ? FLAG_META : 0) |
	       (rq->cmd_flags & REQ_SYNC ? FLAG_SYNC : 0) | (rq->cmd_flags & REQ_RAHEAD ? FLAG_AHEAD : 0);
}

static u32 free_tag(const struct drive *drive)
{
	u32 tag = 0;

	while (tag < FSD_REQUESTS && drive->by_tag[tag])
		tag++;
	return tag;
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *rq = data->rq;
	struct drive *drive = hctx->queue->queuedata;
	struct carried *carried = blk_mq_rq_to_pdu(rq);
	u64 now = ktime_get_ns(), own = drive->own_ns;
	int operation = operation_of(rq);
	unsigned long irq;
	u32 tag;
	LIST_HEAD(done);

	if (operation < 0)
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(rq);
#ifdef FSARENA_WRITE_LOG
	carried->failed = operation == FSD_READ && read_fails(rq);
	if (operation == FSD_WRITE)
		copy_and_log(drive, rq, carried);
	if (operation == FSD_READ && !carried->failed)
#else
	if (operation == FSD_READ || operation == FSD_WRITE)
#endif
		copy(drive, rq);
	spin_lock_irqsave(&drive->lock, irq);
	advance(drive, now, &done);
#ifdef FSARENA_WRITE_LOG
	/* What the disk had done when the flush came, it makes durable. */
	if (operation == FSD_FLUSH)
		log_flush(drive, carried);
#endif
	tag = free_tag(drive);
	carried->flags = flags_of(rq);
	carried->depth = drive->held + 1;
	if (tag == FSD_REQUESTS ||
	    fsd_submit(drive->disk, &(struct fsd_request){
					    .arrived = now,
					    .sector = operation == FSD_FLUSH ? 0 : blk_rq_pos(rq),
					    .sectors = operation == FSD_FLUSH ? 0 : blk_rq_sectors(rq),
					    .tag = tag,
					    .operation = operation,
					    .forced = operation == FSD_WRITE && carried->flags & FLAG_FORCED,
				    })) {
		spin_unlock_irqrestore(&drive->lock, irq);
		end_all(&done);
		blk_mq_end_request(rq, BLK_STS_IOERR);
		return BLK_STS_OK;
	}
	drive->by_tag[tag] = rq;
	drive->held++;
	/* What takes no time at all is done. */
	advance(drive, now, &done);
	arm(drive);
	spin_unlock_irqrestore(&drive->lock, irq);
	count_own(drive, now, own);
	end_all(&done);
	return BLK_STS_OK;
}

static const struct blk_mq_ops mq_ops = { .queue_rq = queue_rq };

static const struct block_device_operations operations = { .owner = THIS_MODULE };

static ssize_t counts_show(struct device *device, struct device_attribute *attribute, char *text)
{
	struct drive *drive = dev_to_disk(device)->private_data;
	struct fsd_counts counts;
	unsigned long irq;

	spin_lock_irqsave(&drive->lock, irq);
	fsd_count(drive->disk, &counts);
	spin_unlock_irqrestore(&drive->lock, irq);
	return sysfs_emit(text, "own_ns %llu\nseeks %llu\ncache_hits %llu\nslots_written %llu\n"
				"slots_programmed %llu\nerases %llu\nlost %llu\n",
			  drive->own_ns, counts.seeks, counts.cache_hits, counts.slots_written,
			  counts.slots_programmed, counts.erases, journal.lost);
}

static DEVICE_ATTR_RO(counts);

static struct attribute *attributes[] = { &dev_attr_counts.attr, NULL };
static const struct attribute_group group = { .name = "fsarena", .attrs = attributes };
static const struct attribute_group *groups[] = { &group, NULL };

/* Takes records out of the journal, whole ones. */
static ssize_t read_journal(struct file *file, char __user *to, size_t size, loff_t *position)
{
	size_t wanted = size / sizeof(struct record), taken = 0;
	unsigned long irq;

	for (; taken < wanted; taken++) {
		struct record record;

		spin_lock_irqsave(&journal.lock, irq);
		if (!journal.count) {
			spin_unlock_irqrestore(&journal.lock, irq);
			break;
		}
		record = journal.record[journal.first++ % journal.room];
		journal.count--;
		spin_unlock_irqrestore(&journal.lock, irq);
		if (copy_to_user(to + taken * sizeof(record), &record, sizeof(record)))
			return -EFAULT;
	}
	return taken * sizeof(struct record);
}

static const struct file_operations journal_operations = {
	.owner = THIS_MODULE,
	.read = read_journal,
};

static struct miscdevice journal_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = NAME,
	.fops = &journal_operations,
	.mode = 0400,
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
/* The kernel is told of a disk before it makes one; before 6.11 not yet what kind it is. */
static struct gendisk *make_gendisk(struct drive *drive)
{
	bool flash = numbers.kind == FSD_FLASH;
	struct queue_limits limits = {
		.logical_block_size = 512,
		.physical_block_size = flash ? 4096 : 512,
		.max_hw_sectors = FSD_LONGEST,
		.max_segments = USHRT_MAX,
		.max_hw_discard_sectors = flash ? UINT_MAX >> SECTOR_BITS : 0,
		.discard_granularity = flash ? 4096 : 0,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
		.features = (numbers.kind == FSD_ROTATING ? BLK_FEAT_ROTATIONAL : 0) |
			    (numbers.cache ? BLK_FEAT_WRITE_CACHE : 0) | (numbers.cache && forced ? BLK_FEAT_FUA : 0),
#endif
	};

	return blk_mq_alloc_disk(&drive->tags, &limits, drive);
}
#else
static struct gendisk *make_gendisk(struct drive *drive)
{
	struct gendisk *gendisk = blk_mq_alloc_disk(&drive->tags, drive);
	struct request_queue *queue;

	if (IS_ERR(gendisk))
		return gendisk;
	queue = gendisk->queue;
	blk_queue_logical_block_size(queue, 512);
	blk_queue_physical_block_size(queue, numbers.kind == FSD_FLASH ? 4096 : 512);
	blk_queue_max_hw_sectors(queue, FSD_LONGEST);
	blk_queue_max_segments(queue, USHRT_MAX);
	if (numbers.kind == FSD_FLASH) {
		queue->limits.discard_granularity = 4096;
		blk_queue_max_discard_sectors(queue, UINT_MAX >> SECTOR_BITS);
	}
	return gendisk;
}
#endif

/* What is said of a disk where its limits cannot. */
static void describe(struct request_queue *queue)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	if (numbers.kind != FSD_ROTATING)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
	blk_queue_write_cache(queue, numbers.cache, numbers.cache && forced);
#endif
}

static void init_timer(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, on_time, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = on_time;
#endif
}

static int make_drive(struct drive *drive, u32 number)
{
	size_t size = fsd_size(&numbers);
	struct gendisk *gendisk;
	void *space;
	int error;

	space = vzalloc(size);
	if (!space)
		return -ENOMEM;
	drive->number = number;
	drive->store = memory + number * (numbers.sectors << SECTOR_BITS);
	drive->disk = fsd_make(space, &numbers);
	spin_lock_init(&drive->lock);
	init_timer(&drive->timer);
	drive->tags.ops = &mq_ops;
	drive->tags.nr_hw_queues = 1;
	drive->tags.queue_depth = numbers.queue;
	drive->tags.numa_node = NUMA_NO_NODE;
	drive->tags.cmd_size = sizeof(struct carried);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	drive->tags.flags = BLK_MQ_F_SHOULD_MERGE;
#endif
	error = blk_mq_alloc_tag_set(&drive->tags);
	if (error)
		goto no_tags;
	gendisk = make_gendisk(drive);
	if (IS_ERR(gendisk)) {
		error = PTR_ERR(gendisk);
		goto no_disk;
	}
	describe(gendisk->queue);
	gendisk->major = major;
	gendisk->first_minor = number;
	gendisk->minors = 1;
	gendisk->flags |= GENHD_FL_NO_PART;
	gendisk->fops = &operations;
	gendisk->private_data = drive;
	snprintf(gendisk->disk_name, sizeof(gendisk->disk_name), "fsd%u", number);
	set_capacity(gendisk, numbers.sectors);
	error = device_add_disk(NULL, gendisk, groups);
	if (error)
		goto not_added;
	drive->gendisk = gendisk;
	return 0;

not_added:
	put_disk(gendisk);
no_disk:
	blk_mq_free_tag_set(&drive->tags);
no_tags:
	vfree(space);
	drive->disk = NULL;
	return error;
}

static void remove_drive(struct drive *drive)
{
	if (!drive->gendisk)
		return;
	del_gendisk(drive->gendisk);
	hrtimer_cancel(&drive->timer);
	put_disk(drive->gendisk);
	blk_mq_free_tag_set(&drive->tags);
	vfree(drive->disk);
}

static void clean_up(void)
{
	u32 number;

	for (number = 0; number < DISKS; number++)
		remove_drive(&drives[number]);
	if (major > 0)
		unregister_blkdev(major, NAME);
	if (memory)
		memunmap(memory);
}

static int __init fsarena_disk_init(void)
{
	u32 number;
	int error;

	if (!parameters || hex2bin((u8 *)&numbers, parameters, sizeof(numbers)) || !fsd_size(&numbers) || !base ||
	    !disks || disks > DISKS) {
		pr_err(NAME ": these parameters make no disk\n");
		return -EINVAL;
	}
	spin_lock_init(&journal.lock);
#ifdef FSARENA_WRITE_LOG
	spin_lock_init(&write_log.lock);
#endif
	memory = memremap(base, disks * (numbers.sectors << SECTOR_BITS) + journal_bytes, MEMREMAP_WB);
	if (!memory)
		return -ENOMEM;
	journal.record = (struct record *)(memory + disks * (numbers.sectors << SECTOR_BITS));
	journal.room = journal_bytes / sizeof(struct record);
	major = register_blkdev(0, NAME);
	error = major < 0 ? major : 0;
	for (number = 0; number < disks && !error; number++)
		error = make_drive(&drives[number], number);
	if (!error)
		error = misc_register(&journal_device);
#ifdef FSARENA_WRITE_LOG
	if (!error)
		error = misc_register(&write_log_device);
#endif
	if (error)
		clean_up();
	return error;
}

static void __exit fsarena_disk_exit(void)
{
	misc_deregister(&journal_device);
#ifdef FSARENA_WRITE_LOG
	misc_deregister(&write_log_device);
	vfree(write_log.bytes);
#endif
	clean_up();
}

module_init(fsarena_disk_init);
module_exit(fsarena_disk_exit);
MODULE_DESCRIPTION("A disk in memory that takes its time from a mechanism");
MODULE_LICENSE("Dual MIT/GPL");
