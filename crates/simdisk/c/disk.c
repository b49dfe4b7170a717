/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests as they come and go, whatever serves them. */
#include "internal.h"

static int is_plausible(const struct fsd_parameters *p)
{
	return p->sectors >= FSD_SLOT && p->sectors % FSD_SLOT == 0 && p->sectors < (fsd_u64)1 << 40 && p->queue >= 1 &&
	       p->queue <= FSD_REQUESTS && p->command < 1000000000;
}

size_t fsd_size(const struct fsd_parameters *p)
{
	if (!is_plausible(p))
		return 0;
	switch (p->kind) {
	case FSD_IDEAL:
		return sizeof(struct fsd_disk);
	case FSD_ROTATING:
		return rotating_is_sound(p) ? sizeof(struct fsd_disk) : 0;
	case FSD_FLASH: {
		size_t more = flash_size(p);

		return more ? sizeof(struct fsd_disk) + more : 0;
	}
	default:
		return 0;
	}
}

struct fsd_disk *fsd_make(void *memory, const struct fsd_parameters *p)
{
	struct fsd_disk *disk = memory;

	disk->p = *p;
	if (p->kind == FSD_ROTATING)
		rotating_make(disk);
	if (p->kind == FSD_FLASH)
		flash_make(disk, disk + 1);
	return disk;
}

fsd_u64 over_link(struct fsd_disk *disk, fsd_u64 from, fsd_u32 sectors)
{
	disk->link_free = at_least(disk->link_free, from) + time_of(sectors, disk->p.link_rate);
	return disk->link_free;
}

void finish(struct fsd_request *r, fsd_u64 at)
{
	fsd_u64 told = 0;
	int part;

	for (part = FSD_WAITING + 1; part < FSD_PARTS; part++)
		told += r->part[part];
	r->completed = at;
	r->part[FSD_WAITING] = at - r->arrived - told;
	r->state = DONE;
}

int oldest(const struct fsd_disk *disk, enum fsd_state state)
{
	int place, found = -1;

	for (place = 0; place < disk->places; place++)
		if (disk->request[place].state == state && (found < 0 || disk->own[place].came < disk->own[found].came))
			found = place;
	return found;
}

/* No mechanism: bytes cross the link. */
static void ideal_submit(struct fsd_disk *disk, struct fsd_request *r)
{
	fsd_u32 sectors = r->operation == FSD_READ || r->operation == FSD_WRITE ? r->sectors : 0;

	r->part[FSD_TRANSFER] = time_of(sectors, disk->p.link_rate);
	finish(r, over_link(disk, r->arrived + disk->p.command, sectors));
}

static int is_servable(const struct fsd_disk *disk, const struct fsd_request *r)
{
	if (r->operation == FSD_FLUSH)
		return !r->sectors;
	return r->operation <= FSD_DISCARD && r->sectors && r->sector < disk->p.sectors &&
	       r->sectors <= disk->p.sectors - r->sector && (r->operation == FSD_DISCARD || r->sectors <= FSD_LONGEST);
}

int fsd_submit(struct fsd_disk *disk, const struct fsd_request *request)
{
	struct fsd_request *r;
	int place, part;

	for (place = 0; place < FSD_REQUESTS; place++)
		if (disk->request[place].state == FREE)
			break;
	if (place == FSD_REQUESTS || !is_servable(disk, request))
		return -1;
	if (place >= disk->places)
		disk->places = place + 1;
	r = &disk->request[place];
	*r = *request;
	disk->own[place] = (struct own){ .came = disk->order++ };
	disk->now = r->arrived = at_least(disk->now, r->arrived);
	for (part = 0; part < FSD_PARTS; part++)
		r->part[part] = 0;
	r->part[FSD_COMMAND] = disk->p.command;
	switch (disk->p.kind) {
	case FSD_ROTATING:
		rotating_submit(disk, place);
		break;
	case FSD_FLASH:
		flash_submit(disk, place);
		break;
	default:
		ideal_submit(disk, r);
	}
	return 0;
}

/* The place of the request that is done first, of several the one that came first; -1 where none is. */
static int first_done(const struct fsd_disk *disk)
{
	int place, first = -1;

	for (place = 0; place < disk->places; place++) {
		const struct fsd_request *r = &disk->request[place];

		if (r->state != DONE)
			continue;
		if (first < 0 || r->completed < disk->request[first].completed ||
		    (r->completed == disk->request[first].completed && disk->own[place].came < disk->own[first].came))
			first = place;
	}
	return first;
}

static fsd_u64 mechanism_next(const struct fsd_disk *disk)
{
	switch (disk->p.kind) {
	case FSD_ROTATING:
		return rotating_next(disk);
	case FSD_FLASH:
		return flash_next(disk);
	default:
		return FSD_NEVER;
	}
}

fsd_u64 fsd_next(const struct fsd_disk *disk)
{
	int first = first_done(disk);
	fsd_u64 done = first < 0 ? FSD_NEVER : disk->request[first].completed;

	return at_most(done, mechanism_next(disk));
}

int fsd_step(struct fsd_disk *disk, struct fsd_request *done)
{
	int first = first_done(disk);
	fsd_u64 next = mechanism_next(disk);

	if (first >= 0 && disk->request[first].completed <= next) {
		*done = disk->request[first];
		disk->now = at_least(disk->now, done->completed);
		disk->request[first].state = FREE;
		while (disk->places && disk->request[disk->places - 1].state == FREE)
			disk->places--;
		return 1;
	}
	if (next != FSD_NEVER) {
		disk->now = at_least(disk->now, next);
		if (disk->p.kind == FSD_ROTATING)
			rotating_step(disk);
		else
			flash_step(disk);
	}
	return 0;
}

void fsd_count(const struct fsd_disk *disk, struct fsd_counts *counts)
{
	*counts = disk->counts;
}
