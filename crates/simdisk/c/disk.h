/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How long a disk takes: a mechanism behind a queue, told by numbers.
 *
 * One piece of code, which a driver in a guest and fsarena itself compile: a disk takes the same time in both. It
 * calls nothing, allocates nothing and knows no clock: whoever uses it says what time it is. All times are
 * nanoseconds, all places and lengths sectors of 512 bytes.
 *
 * Use: step while next() is not in the future, then submit. Every request that was submitted comes out of step()
 * once.
 */
#ifndef FSARENA_DISK_H
#define FSARENA_DISK_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef u32 fsd_u32;
typedef u64 fsd_u64;
typedef s64 fsd_s64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint32_t fsd_u32;
typedef uint64_t fsd_u64;
typedef int64_t fsd_s64;
#endif

/* At no time. */
#define FSD_NEVER (~(fsd_u64)0)
/* Requests that a disk holds at most. */
#define FSD_REQUESTS 128
/* Zones of a rotating disk at most. */
#define FSD_ZONES 16
/* Extents that a write cache holds at most. */
#define FSD_EXTENTS 1024
/* Sectors of a read or a write at most. */
#define FSD_LONGEST 2048
/* Dies of a flash disk at most, and channels. */
#define FSD_DIES 128
/* Slots of a page of flash at most. */
#define FSD_PAGE 16
/* Sectors of the unit in which flash is mapped: 4 KiB. */
#define FSD_SLOT 8

enum fsd_kind { FSD_IDEAL, FSD_ROTATING, FSD_FLASH };

enum fsd_operation { FSD_READ, FSD_WRITE, FSD_FLUSH, FSD_DISCARD };

/* Where the time of a request went; the parts add up to it. */
enum fsd_part {
	FSD_WAITING,	/* for the requests before it, or for room in the cache */
	FSD_COMMAND,	/* until the disk has understood it */
	FSD_SEEK,	/* the arm moves, or another head is chosen */
	FSD_ROTATION,	/* the sector comes round */
	FSD_TRANSFER,	/* bytes move: under the head, or over the bus */
	FSD_CELLS,	/* flash is read or programmed */
	FSD_COLLECTION,	/* flash is made free for it */
	FSD_EMPTYING,	/* a flush waits until the cache is empty */
	FSD_PARTS
};

/* A band of cylinders with equally long tracks. */
struct fsd_zone {
	fsd_u32 cylinders;
	fsd_u32 sectors;	/* of a track */
};

struct fsd_rotating {
	fsd_u64 turn;		/* of one revolution */
	fsd_u64 seek_track;	/* to the next cylinder */
	fsd_u64 seek_average;	/* over a third of all cylinders */
	fsd_u64 seek_full;	/* over all of them */
	fsd_u64 head_switch;
	fsd_u64 write_settle;	/* what a seek takes longer before a write */
	fsd_u32 heads;
	fsd_u32 read_ahead;	/* sectors of the track buffer */
	fsd_u32 zones;
	struct fsd_zone zone[FSD_ZONES];	/* from the outermost, where sector 0 is */
	fsd_u32 age_weight;	/* thousandths of the time that a request has waited, by which its positioning counts as
				   shorter */
};

struct fsd_flash {
	fsd_u64 read;		/* of a page */
	fsd_u64 program;	/* of a page */
	fsd_u64 erase;		/* of a block */
	fsd_u64 unmap;		/* of a discard */
	fsd_u64 controller;	/* that part of a command's overhead which it spends on one command at a time */
	fsd_u64 channel_rate;	/* bytes a second over the bus of one channel */
	fsd_u32 channels;
	fsd_u32 dies;		/* of each channel */
	fsd_u32 page;		/* sectors */
	fsd_u32 block;		/* pages */
	fsd_u32 spare;		/* per mille of what can be written, beyond it */
	fsd_u32 protected;	/* whether its cache survives a loss of power, so that a flush waits for nothing */
	fsd_u32 writes_before;	/* per cent of the disk that was written before it begins: 100 is every sector once, in
				   order; what is beyond that at random */
};

struct fsd_parameters {
	fsd_u32 kind;
	fsd_u32 queue;		/* commands among which it chooses */
	fsd_u64 sectors;
	fsd_u64 command;	/* overhead of each */
	fsd_u64 link_rate;	/* bytes a second between it and the host; 0 is no limit */
	fsd_u64 cache;		/* sectors of the write cache; 0 is none */
	fsd_u64 seed;
	struct fsd_rotating rotating;
	struct fsd_flash flash;
};

struct fsd_request {
	fsd_u64 arrived;
	fsd_u64 sector;
	fsd_u64 tag;		/* the caller's */
	fsd_u32 sectors;
	fsd_u32 operation;
	fsd_u32 forced;		/* forced unit access: no cache */
	fsd_u32 state;		/* the disk's own */
	fsd_u64 completed;
	fsd_u64 part[FSD_PARTS];
};

/* What it did since it began. */
struct fsd_counts {
	fsd_u64 seeks;
	fsd_u64 cache_hits;
	fsd_u64 slots_written;		/* by the host */
	fsd_u64 slots_programmed;	/* by itself, with what it moved and what it filled up */
	fsd_u64 erases;
};

struct fsd_disk;

/* Bytes that a disk needs; 0 where its numbers make no disk. */
size_t fsd_size(const struct fsd_parameters *parameters);
/* Makes a disk in memory that is zero and aligned to 8 bytes. */
struct fsd_disk *fsd_make(void *memory, const struct fsd_parameters *parameters);
/* Gives it a request. Returns 0, or -1 where it holds as many as it can, or the request is none that a disk can
   serve: beyond its end, or longer than FSD_LONGEST. */
int fsd_submit(struct fsd_disk *disk, const struct fsd_request *request);
/* When something happens next that was not asked for; FSD_NEVER where nothing does. */
fsd_u64 fsd_next(const struct fsd_disk *disk);
/* Lets that happen. Returns 1 and a request where one is done, else 0. */
int fsd_step(struct fsd_disk *disk, struct fsd_request *done);
void fsd_count(const struct fsd_disk *disk, struct fsd_counts *counts);

#endif
