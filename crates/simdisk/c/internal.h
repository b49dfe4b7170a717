/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of a disk know of each other. */
#ifndef FSARENA_DISK_INTERNAL_H
#define FSARENA_DISK_INTERNAL_H

#include "disk.h"

enum fsd_state {
	FREE,		/* the place is empty */
	ARRIVING,	/* its command is being decoded, or its data are in transfer */
	QUEUED,		/* waits for the mechanism */
	ADMITTING,	/* a write that waits for room in the cache */
	EMPTYING,	/* waits until what it needs is out of the cache */
	DONE		/* comes out when its time has come */
};

/* What the disk knows of a request beside what it was told. */
struct own {
	fsd_u64 came;		/* requests are counted as they come */
	fsd_u64 ready;		/* when it has arrived */
	fsd_u64 number;		/* it waits until all that was written before this number is on the disk */
	fsd_u64 first_page;	/* when the first of its pages was read */
	fsd_u64 waits_since;	/* for the cache */
	fsd_u64 worked;		/* how long the dies had worked then */
	fsd_u64 collected;	/* and how much of that for making room */
	fsd_u32 pages;		/* that are not read yet */
	fsd_u32 admitted;	/* slots that are in the cache */
};

/* Sectors in the write cache that are not on the disk. */
struct extent {
	fsd_u64 sector;
	fsd_u64 came;		/* the first write of it, as requests are counted */
	fsd_u32 sectors;
};

/* Sectors that lie in the track buffer, or will when the head has passed them. */
struct buffer {
	fsd_u64 first;
	fsd_u64 from;		/* the head is before this sector */
	fsd_u64 since;		/* at this time */
	fsd_u64 limit;		/* behind the last sector that has room */
	int reading;		/* whether the head still follows */
};

struct rotating {
	struct fsd_zone zone[FSD_ZONES];	/* those of this disk, which may be smaller than the one described */
	fsd_u64 first[FSD_ZONES];		/* the first sector of each */
	fsd_u32 cylinders;
	fsd_u32 stretch;	/* cylinders of the disk described for each of this one */
	fsd_u32 at;		/* the cylinder that the arm is at */
	fsd_u32 head;
	fsd_u64 free_at;	/* when the mechanism has done what it does */
	int serving;		/* the request that it serves, or -1 */
	int emptying;		/* the extent that it writes, or -1 */
	struct buffer buffer;
	struct extent extent[FSD_EXTENTS];
	fsd_u32 extents;
	fsd_u64 dirty;		/* sectors of all of them */
};

/* What a die does, which is one thing at a time. */
enum work { IDLE, READING, SENDING, COLLECTING, PROGRAMMING };

struct die {
	enum work work;
	fsd_u64 until;		/* it does that */
	fsd_u32 reads;		/* the first of the pages that it is asked for, and the last; 0 is none */
	fsd_u32 last_read;
	fsd_u32 open[2];	/* the blocks that are written: by the host, and by collection */
	fsd_u32 used[2];	/* slots of them */
	fsd_u32 free;		/* blocks that are erased */
	fsd_u32 valid;		/* slots that count */
	fsd_u32 page[FSD_PAGE];	/* the slots that it programs */
	fsd_u32 filled;		/* so many */
	fsd_u64 first;		/* their first number, as slots are counted that are written */
};

/* A page that a request wants from a die. */
struct page_read {
	fsd_u32 next;		/* one behind the place of the next that the same die is asked for; 0 is none */
	fsd_u32 request;
	fsd_u32 slots;		/* of the page, that are sent */
	fsd_u64 since;
	fsd_u64 collection;	/* how long it waited for that */
};

struct flash {
	fsd_u32 slots;		/* that the host sees */
	fsd_u32 dies;
	fsd_u32 blocks;		/* of each die */
	fsd_u32 block_slots;
	fsd_u32 page_slots;
	fsd_u64 erase;		/* of a block as large as these */
	fsd_u32 next_die;
	fsd_u32 random;
	fsd_u32 cached;		/* slots in the cache, those that are being programmed included */
	fsd_u32 room;		/* slots of the cache */
	fsd_u64 written;	/* slots that were ever put into the cache */
	fsd_u64 taken;		/* slots of these that a die has taken */
	fsd_u64 wanted;		/* slots of these that somebody waits for */
	fsd_u64 worked;		/* how long all dies have worked */
	fsd_u64 collected;	/* and how much of that for making room */
	fsd_u64 controller_free;	/* when the controller can turn to the next command */
	fsd_u32 free_read;	/* the first free place of page_read, counted from 1 */
	fsd_u32 *map;		/* where a slot lies; NOWHERE */
	fsd_u32 *back;		/* which slot lies there; NOWHERE */
	fsd_u32 *valid;		/* how many slots of a block count */
	fsd_u32 *ring;		/* slots in the cache that no die has taken, in the order in which they came */
	struct page_read *page_read;
	unsigned char *is_free;	/* whether a block is erased */
	unsigned char *where;	/* whether a slot is in the cache, or is programmed */
	struct die die[FSD_DIES];
	fsd_u64 channel_free[FSD_DIES];
};

struct fsd_disk {
	struct fsd_parameters p;
	struct fsd_counts counts;
	fsd_u64 now;
	fsd_u64 link_free;
	fsd_u64 order;			/* of requests, as they came */
	int places;			/* behind so many, every place is free */
	struct fsd_request request[FSD_REQUESTS];
	struct own own[FSD_REQUESTS];
	union {
		struct rotating rotating;
		struct flash flash;
	} is;
};

/* Kernels from 7.0 on have a macro of this name. */
#undef at_least

static inline fsd_u64 at_least(fsd_u64 a, fsd_u64 b)
{
	return a > b ? a : b;
}

static inline fsd_u64 at_most(fsd_u64 a, fsd_u64 b)
{
	return a < b ? a : b;
}

/* How long so many sectors take at a rate of bytes a second. */
static inline fsd_u64 time_of(fsd_u64 sectors, fsd_u64 rate)
{
	return rate ? sectors * 512 * 1000000000 / rate : 0;
}

/* When so many sectors have crossed the link, which one request has at a time; from a time on. */
fsd_u64 over_link(struct fsd_disk *disk, fsd_u64 from, fsd_u32 sectors);
/* A request is done at a time; what is not told yet, it waited. */
void finish(struct fsd_request *r, fsd_u64 at);
/* The request of these that came first in a state; -1 where there is none. */
int oldest(const struct fsd_disk *disk, enum fsd_state state);

int rotating_is_sound(const struct fsd_parameters *p);
void rotating_make(struct fsd_disk *disk);
void rotating_submit(struct fsd_disk *disk, int place);
fsd_u64 rotating_next(const struct fsd_disk *disk);
void rotating_step(struct fsd_disk *disk);

size_t flash_size(const struct fsd_parameters *p);
void flash_make(struct fsd_disk *disk, void *memory);
void flash_submit(struct fsd_disk *disk, int place);
fsd_u64 flash_next(const struct fsd_disk *disk);
void flash_step(struct fsd_disk *disk);

#endif
