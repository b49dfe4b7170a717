/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A disk with an arm and platters.
 *
 * The seek curve is that of Ruemmler and Wilkes, "An introduction to disk drive modeling" (IEEE Computer 27(3),
 * 1994): a root of the distance for short seeks, where the arm speeds up and slows down, and a line for long ones,
 * where it coasts. It goes through three numbers of a data sheet: to the next cylinder, over a third of all
 * (the average of random seeks), and over all.
 *
 * A disk that is smaller than the one described has fewer cylinders in every zone, and its arm goes as far: it
 * stands for the whole disk, and not for a slice at its edge. To the next cylinder it takes one step all the same.
 *
 * Tracks are skewed by what changing heads and cylinders takes before a write, so that a stream loses no
 * revolution.
 *
 * Reads and forced writes are served before the write cache is emptied, except where a flush or a write waits for
 * it. Among the commands of its queue the disk takes the one that the head can reach first, where each counts as
 * nearer by a part of the time that it has waited: aged shortest positioning time first of Worthington, Ganger and
 * Patt, "Scheduling algorithms for modern disk drives" (SIGMETRICS 1994), so that none waits for ever. The cache is
 * as old as the flush or the write that waits for it.
 */
#include "internal.h"

/* Extents among which the emptying of the cache chooses; as many as commands of a long queue. */
#define CHOICE 64
/* An extent in the cache grows to so many sectors. */
#define LONGEST 1024

int rotating_is_sound(const struct fsd_parameters *p)
{
	const struct fsd_rotating *r = &p->rotating;
	fsd_u64 sectors = 0, cylinders = 0;
	fsd_u32 zone;

	if (!r->turn || r->turn > 1000000000 || !r->heads || r->heads > 64 || !r->zones || r->zones > FSD_ZONES)
		return 0;
	if (r->seek_track > r->seek_average || r->seek_average > r->seek_full || r->seek_full > 1000000000)
		return 0;
	for (zone = 0; zone < r->zones; zone++) {
		if (!r->zone[zone].cylinders || !r->zone[zone].sectors)
			return 0;
		cylinders += r->zone[zone].cylinders;
		sectors += (fsd_u64)r->zone[zone].cylinders * r->zone[zone].sectors * r->heads;
	}
	return cylinders < (fsd_u64)1 << 31 && p->sectors <= sectors;
}

void rotating_make(struct fsd_disk *disk)
{
	const struct fsd_rotating *p = &disk->p.rotating;
	struct rotating *is = &disk->is.rotating;
	fsd_u64 whole = 0, first = 0;
	fsd_u32 zone, cylinders = 0;

	for (zone = 0; zone < p->zones; zone++) {
		whole += (fsd_u64)p->zone[zone].cylinders * p->zone[zone].sectors * p->heads;
		cylinders += p->zone[zone].cylinders;
	}
	for (zone = 0; zone < p->zones; zone++) {
		fsd_u64 wanted = (fsd_u64)p->zone[zone].cylinders * disk->p.sectors;

		is->zone[zone] = p->zone[zone];
		/* Rounded up, so that there is room for all sectors. */
		is->zone[zone].cylinders = (wanted + whole - 1) / whole;
		is->first[zone] = first;
		first += (fsd_u64)is->zone[zone].cylinders * is->zone[zone].sectors * p->heads;
		is->cylinders += is->zone[zone].cylinders;
	}
	is->stretch = cylinders / is->cylinders;
	if (!is->stretch)
		is->stretch = 1;
	is->serving = is->emptying = -1;
}

/* The root, rounded down. */
static fsd_u64 root(fsd_u64 square)
{
	fsd_u64 low = 0, high = (fsd_u64)1 << 31;

	while (low < high) {
		fsd_u64 middle = (low + high + 1) / 2;

		if (middle * middle <= square)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* How long the arm takes over so many cylinders of this disk. */
static fsd_u64 seek(const struct fsd_disk *disk, fsd_u32 distance)
{
	const struct fsd_rotating *p = &disk->p.rotating;
	fsd_u64 all = (fsd_u64)disk->is.rotating.cylinders * disk->is.rotating.stretch;
	fsd_u64 third = all / 3, far = (fsd_u64)distance * disk->is.rotating.stretch;

	if (!distance)
		return 0;
	if (distance == 1 || third <= 1)
		return p->seek_track;
	if (far >= third)
		return p->seek_average + (p->seek_full - p->seek_average) * (far - third) / (all - third);
	/* Roots of numbers that are a million times as large, for three digits behind the point. */
	return p->seek_track +
	       (p->seek_average - p->seek_track) * (root(far * 1000000) - 1000) / (root(third * 1000000) - 1000);
}

struct place {
	fsd_u32 cylinder;
	fsd_u32 head;
	fsd_u32 sector;
	fsd_u32 track;	/* sectors of its track */
};

static struct place place_of(const struct fsd_disk *disk, fsd_u64 sector)
{
	const struct rotating *is = &disk->is.rotating;
	struct place place = { 0 };
	fsd_u32 zone = 0, heads = disk->p.rotating.heads;
	fsd_u64 track;

	while (zone + 1 < disk->p.rotating.zones && sector >= is->first[zone + 1])
		place.cylinder += is->zone[zone++].cylinders;
	place.track = is->zone[zone].sectors;
	track = (sector - is->first[zone]) / place.track;
	place.sector = (sector - is->first[zone]) % place.track;
	place.cylinder += track / heads;
	place.head = track % heads;
	return place;
}

static fsd_u64 to_next_head(const struct fsd_rotating *p)
{
	return p->head_switch + p->write_settle;
}

static fsd_u64 to_next_cylinder(const struct fsd_rotating *p)
{
	return p->seek_track + p->write_settle;
}

/* When in a revolution a sector comes by. */
static fsd_u64 angle(const struct fsd_disk *disk, const struct place *place)
{
	const struct fsd_rotating *p = &disk->p.rotating;
	fsd_u64 heads = (fsd_u64)place->cylinder * (p->heads - 1) + place->head;
	fsd_u64 skew = heads * to_next_head(p) + place->cylinder * to_next_cylinder(p);

	return (skew + place->sector * p->turn / place->track) % p->turn;
}

/* How long a stream of sectors takes under the heads, with the changes of track in it. */
static fsd_u64 stream(const struct fsd_disk *disk, fsd_u64 sector, fsd_u64 sectors)
{
	const struct fsd_rotating *p = &disk->p.rotating;
	fsd_u64 time = 0;

	while (sectors) {
		struct place place = place_of(disk, sector);
		fsd_u64 here = at_most(sectors, place.track - place.sector);

		time += (place.sector + here) * p->turn / place.track - place.sector * p->turn / place.track;
		sector += here;
		sectors -= here;
		/* The last sector of a track ends with it, whatever was rounded. */
		if (sectors)
			time += place.head + 1 < p->heads ? to_next_head(p) : to_next_cylinder(p);
	}
	return time;
}

struct positioning {
	fsd_u64 seek;
	fsd_u64 rotation;
};

/* What it takes from where the arm is, at a time, until the head is over a sector. */
static struct positioning position(const struct fsd_disk *disk, fsd_u64 at, fsd_u64 sector, int writes)
{
	const struct fsd_rotating *p = &disk->p.rotating;
	const struct rotating *is = &disk->is.rotating;
	struct place place = place_of(disk, sector);
	struct positioning takes = { 0 };
	fsd_u32 distance = place.cylinder > is->at ? place.cylinder - is->at : is->at - place.cylinder;

	if (distance)
		takes.seek = seek(disk, distance);
	else if (place.head != is->head)
		takes.seek = p->head_switch;
	if (writes && takes.seek)
		takes.seek += p->write_settle;
	takes.rotation = (angle(disk, &place) + p->turn - (at + takes.seek) % p->turn) % p->turn;
	return takes;
}

static void move_to(struct fsd_disk *disk, fsd_u64 sector)
{
	struct place place = place_of(disk, sector);

	disk->is.rotating.at = place.cylinder;
	disk->is.rotating.head = place.head;
}

/* The sector that the head has come to, which goes on reading behind a read, at a time. */
static fsd_u64 reached(const struct fsd_disk *disk, fsd_u64 at)
{
	const struct buffer *b = &disk->is.rotating.buffer;
	fsd_u64 low = b->from, high = b->limit;

	if (!b->reading || at <= b->since)
		return b->from;
	while (low < high) {
		fsd_u64 middle = low + (high - low + 1) / 2;

		if (b->since + stream(disk, b->from, middle - b->from) <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The head leaves the track: what it has read so far stays. */
static void stop_reading(struct fsd_disk *disk, fsd_u64 at)
{
	struct buffer *b = &disk->is.rotating.buffer;

	if (!b->reading)
		return;
	b->from = b->limit = reached(disk, at);
	b->reading = 0;
	move_to(disk, at_most(b->from, disk->p.sectors - 1));
}

/* The head follows behind a read that ends with a sector at a time. */
static void read_on(struct fsd_disk *disk, fsd_u64 first, fsd_u64 end, fsd_u64 at)
{
	struct buffer *b = &disk->is.rotating.buffer;

	b->first = first;
	b->from = end;
	b->since = at;
	b->limit = at_most(end + disk->p.rotating.read_ahead, disk->p.sectors);
	b->reading = b->limit > end;
}

/* Whether a read is served by the track buffer, and when its last sector is there. What lies so far ahead that the arm
   would be there sooner is not. */
static int is_buffered(struct fsd_disk *disk, const struct fsd_request *r, fsd_u64 *there)
{
	struct buffer *b = &disk->is.rotating.buffer;
	fsd_u64 end = r->sector + r->sectors;
	struct positioning directly;

	if (r->sector < b->first || end > b->limit || b->first == b->limit)
		return 0;
	*there = end <= b->from ? 0 : b->since + stream(disk, b->from, end - b->from);
	if (end <= b->from || !b->reading)
		return 1;
	move_to(disk, at_most(reached(disk, disk->now), disk->p.sectors - 1));
	directly = position(disk, disk->now, r->sector, 0);
	return *there <= disk->now + directly.seek + directly.rotation + stream(disk, r->sector, r->sectors);
}

static void serve_from_buffer(struct fsd_disk *disk, struct fsd_request *r, fsd_u64 there)
{
	struct buffer *b = &disk->is.rotating.buffer;
	fsd_u64 understood = disk->now, begins = at_least(understood, there), end = r->sector + r->sectors;
	fsd_u64 passed = reached(disk, understood);

	disk->counts.cache_hits++;
	r->part[FSD_TRANSFER] = begins - understood + time_of(r->sectors, disk->p.link_rate);
	finish(r, over_link(disk, begins, r->sectors));
	if (!b->reading)
		return;
	/* Where there was no room, the head waits for the sector to come round again. */
	if (passed == b->limit && passed < disk->p.sectors) {
		move_to(disk, passed);
		b->since = understood + position(disk, understood, passed, 0).rotation;
		b->from = passed;
	}
	b->limit = at_least(b->limit, at_most(end + disk->p.rotating.read_ahead, disk->p.sectors));
	if (b->limit - b->first > disk->p.rotating.read_ahead)
		b->first = b->limit - disk->p.rotating.read_ahead;
}

/* Whether an extent of the cache holds a request, beside one of them (-1 is none). */
static int is_in_cache(const struct rotating *is, const struct fsd_request *r, int beside)
{
	int i;

	for (i = 0; i < (int)is->extents; i++) {
		const struct extent *e = &is->extent[i];

		if (i != beside && r->sector >= e->sector && r->sector + r->sectors <= e->sector + e->sectors)
			return 1;
	}
	return 0;
}

/* What lies in the track buffer of sectors that are written is old. */
static void forget(struct fsd_disk *disk, const struct fsd_request *r)
{
	struct buffer *b = &disk->is.rotating.buffer;

	if (r->sector < b->limit && b->first < r->sector + r->sectors) {
		stop_reading(disk, disk->now);
		b->first = b->limit;
	}
}

/* Puts a write into the cache, where there is room. */
static int admit(struct fsd_disk *disk, int place)
{
	struct fsd_request *r = &disk->request[place];
	struct rotating *is = &disk->is.rotating;
	struct extent *last = is->extents ? &is->extent[is->extents - 1] : 0;

	/* The extent that is being written to the platter cannot change. */
	if (!is_in_cache(is, r, is->emptying)) {
		int grows = last && (int)is->extents - 1 != is->emptying && last->sector + last->sectors == r->sector &&
			    last->sectors + r->sectors <= LONGEST;

		if (is->dirty + r->sectors > disk->p.cache || (!grows && is->extents == FSD_EXTENTS))
			return 0;
		if (grows) {
			last->sectors += r->sectors;
		} else {
			struct extent *e = &is->extent[is->extents++];

			e->sector = r->sector;
			e->sectors = r->sectors;
			e->came = disk->own[place].came;
		}
		is->dirty += r->sectors;
	}
	r->part[FSD_TRANSFER] = time_of(r->sectors, disk->p.link_rate);
	finish(r, over_link(disk, disk->now, r->sectors));
	return 1;
}

/* Ends the flushes before which all that was in the cache is on the disk. */
static void finish_flushes(struct fsd_disk *disk)
{
	const struct rotating *is = &disk->is.rotating;
	int place;

	/* Extents lie in the order in which they began. */
	while ((place = oldest(disk, EMPTYING)) >= 0 &&
	       (!is->extents || is->extent[0].came > disk->own[place].came)) {
		struct fsd_request *r = &disk->request[place];

		r->part[FSD_EMPTYING] = disk->now - r->arrived - disk->p.command;
		finish(r, disk->now);
	}
}

static int is_cached_write(const struct fsd_disk *disk, const struct fsd_request *r)
{
	return r->operation == FSD_WRITE && !r->forced && r->sectors <= disk->p.cache;
}

/* What the mechanism may do next. */
struct choice {
	int request;	/* or -1 */
	int extent;	/* or -1 */
	fsd_s64 counts;	/* the time to its sector, less a part of that for which it has waited */
	struct positioning takes;
};

/* Takes what counts as nearer than the best so far, for somebody who has waited since a time. */
static void consider(const struct fsd_disk *disk, struct choice *best, const struct choice *other, fsd_u64 since)
{
	fsd_u64 waited = disk->now - at_most(since, disk->now);
	fsd_s64 counts = other->takes.seek + other->takes.rotation;

	counts -= waited * disk->p.rotating.age_weight / 1000;
	if ((best->request >= 0 || best->extent >= 0) && counts >= best->counts)
		return;
	*best = *other;
	best->counts = counts;
}

/* The request that came first of those that wait and came no earlier than a number; -1 where there is none. */
static int next_queued(const struct fsd_disk *disk, fsd_u64 from)
{
	int place, next = -1;

	for (place = 0; place < disk->places; place++)
		if (disk->request[place].state == QUEUED && disk->own[place].came >= from &&
		    (next < 0 || disk->own[place].came < disk->own[next].came))
			next = place;
	return next;
}

/* As many commands as its queue holds, in the order in which they came. */
static void consider_requests(const struct fsd_disk *disk, struct choice *best)
{
	struct choice other = { -1, -1, 0, { 0 } };
	fsd_u64 from = 0;
	fsd_u32 i;

	for (i = 0; i < disk->p.queue; i++) {
		int place = next_queued(disk, from);
		const struct fsd_request *r = &disk->request[place];

		if (place < 0)
			return;
		from = disk->own[place].came + 1;
		other.takes = position(disk, disk->now, r->sector, r->operation == FSD_WRITE);
		other.request = place;
		consider(disk, best, &other, r->arrived);
	}
}

/* Extents of the cache, those that a flush waits for alone where one does. */
static void consider_cache(const struct fsd_disk *disk, struct choice *best)
{
	const struct rotating *is = &disk->is.rotating;
	struct choice other = { -1, -1, 0, { 0 } };
	int flush = oldest(disk, EMPTYING), write = oldest(disk, ADMITTING);
	fsd_u64 since = disk->now;
	fsd_u32 i;

	if (flush >= 0)
		since = at_most(since, disk->request[flush].arrived);
	if (write >= 0)
		since = at_most(since, disk->request[write].arrived);
	for (i = 0; i < is->extents && i < CHOICE; i++) {
		if (flush >= 0 && is->extent[i].came > disk->own[flush].came)
			continue;
		other.takes = position(disk, disk->now, is->extent[i].sector, 1);
		other.extent = i;
		consider(disk, best, &other, since);
	}
}

/* Lets the mechanism begin with what is nearest, where it is free and there is something. */
static void begin(struct fsd_disk *disk)
{
	struct rotating *is = &disk->is.rotating;
	struct choice best = { -1, -1, 0, { 0 } };
	fsd_u64 sector, at = disk->now;
	fsd_u32 sectors;

	if (is->serving >= 0 || is->emptying >= 0)
		return;
	/* The arm is where the head has come to. */
	if (is->buffer.reading)
		move_to(disk, at_most(reached(disk, at), disk->p.sectors - 1));
	consider_requests(disk, &best);
	if (best.request < 0 || oldest(disk, EMPTYING) >= 0 || oldest(disk, ADMITTING) >= 0)
		consider_cache(disk, &best);
	if (best.extent >= 0) {
		sector = is->extent[best.extent].sector;
		sectors = is->extent[best.extent].sectors;
	} else if (best.request >= 0) {
		struct fsd_request *r = &disk->request[best.request];

		sector = r->sector;
		sectors = r->sectors;
		r->part[FSD_SEEK] = best.takes.seek;
		r->part[FSD_ROTATION] = best.takes.rotation;
		r->part[FSD_TRANSFER] = stream(disk, sector, sectors);
	} else {
		return;
	}
	is->emptying = best.extent;
	is->serving = best.request;
	stop_reading(disk, at);
	disk->counts.seeks += best.takes.seek != 0;
	is->free_at = at + best.takes.seek + best.takes.rotation + stream(disk, sector, sectors);
	move_to(disk, at_most(sector + sectors, disk->p.sectors) - 1);
}

static void arrived(struct fsd_disk *disk, int place)
{
	struct rotating *is = &disk->is.rotating;
	struct fsd_request *r = &disk->request[place];
	fsd_u64 there;

	switch (r->operation) {
	case FSD_DISCARD:
		finish(r, disk->now);
		return;
	case FSD_FLUSH:
		r->state = EMPTYING;
		finish_flushes(disk);
		break;
	case FSD_READ:
		if (is_in_cache(is, r, -1)) {
			disk->counts.cache_hits++;
			r->part[FSD_TRANSFER] = time_of(r->sectors, disk->p.link_rate);
			finish(r, over_link(disk, disk->now, r->sectors));
		} else if (is_buffered(disk, r, &there)) {
			serve_from_buffer(disk, r, there);
		} else {
			r->state = QUEUED;
		}
		break;
	default:
		forget(disk, r);
		r->state = is_cached_write(disk, r) ? ADMITTING : QUEUED;
		if (oldest(disk, ADMITTING) == place)
			admit(disk, place);
	}
	begin(disk);
}

void rotating_submit(struct fsd_disk *disk, int place)
{
	struct fsd_request *r = &disk->request[place];

	r->state = ARRIVING;
	disk->own[place].ready = r->arrived + disk->p.command;
}

fsd_u64 rotating_next(const struct fsd_disk *disk)
{
	const struct rotating *is = &disk->is.rotating;
	int first = oldest(disk, ARRIVING);
	fsd_u64 there = first < 0 ? FSD_NEVER : disk->own[first].ready;

	return is->serving >= 0 || is->emptying >= 0 ? at_most(is->free_at, there) : there;
}

/* An extent is on the disk: the cache has more room. */
static void emptied(struct fsd_disk *disk)
{
	struct rotating *is = &disk->is.rotating;
	int place;
	fsd_u32 i = is->emptying;

	is->dirty -= is->extent[i].sectors;
	for (is->extents--; i < is->extents; i++)
		is->extent[i] = is->extent[i + 1];
	is->emptying = -1;
	while ((place = oldest(disk, ADMITTING)) >= 0)
		if (!admit(disk, place))
			break;
	finish_flushes(disk);
}

void rotating_step(struct fsd_disk *disk)
{
	struct rotating *is = &disk->is.rotating;
	int first = oldest(disk, ARRIVING);

	if (first >= 0 && disk->own[first].ready <= disk->now) {
		arrived(disk, first);
		return;
	}
	if (is->emptying >= 0) {
		emptied(disk);
	} else {
		struct fsd_request *r = &disk->request[is->serving];

		is->serving = -1;
		finish(r, is->free_at);
		if (r->operation == FSD_READ)
			read_on(disk, r->sector, r->sector + r->sectors, is->free_at);
	}
	begin(disk);
}
