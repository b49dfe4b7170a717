/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A disk of flash: dies on channels, behind a table that says where each 4 KiB lie.
 *
 * Pages are written where a die is idle, never twice before their block is erased. A die that has no block left makes
 * room: it moves what counts out of the block with the least of it (greedy collection) and erases that. What
 * collection moves goes to blocks of its own. A die asked for pages reads them before it goes on to program or to
 * collect, and ends what it has begun first.
 *
 * Writes are done when they are in the cache. A cache without protection keeps a flush, and a forced write, waiting
 * until all that came before is on the flash; a page that is not full is programmed then as it is. A disk without a
 * cache serves every write like a forced one. What is written again while it waits in the cache is programmed once.
 *
 * The controller turns to one command at a time, which limits how many it serves in a second.
 *
 * What it leaves out: a table that does not fit into its memory, reads ahead, programs that are suspended for reads,
 * collection while nobody asks, wear.
 */
#include "internal.h"

#define NOWHERE (~(fsd_u32)0)
/* Blocks that a die has at least: fewer, and a block would be too large a part of what is spare. Where the disk is
   too small for that its blocks are smaller, and erased in proportion. */
#define BLOCKS 64
/* Blocks of a die that what counts never fills: the two that are open, and room to collect. */
#define KEPT 4
/* Pages that requests want at most. */
#define READS (FSD_REQUESTS * (FSD_LONGEST / FSD_SLOT + 1))

/* Where a slot is beside its place on the flash. */
enum where { ON_FLASH, IN_RING, IN_PROGRAM };

/* What follows from the numbers of a disk. */
struct shape {
	fsd_u32 slots, dies, blocks, block_slots, page_slots, room;
	fsd_u64 erase;
};

static fsd_u64 in_parts(fsd_u64 whole, fsd_u64 part)
{
	return (whole + part - 1) / part;
}

/* Blocks that a die needs, of so many slots. */
static fsd_u64 blocks_of_die(const struct fsd_parameters *p, const struct shape *s, fsd_u32 block_slots)
{
	fsd_u64 die = (fsd_u64)s->dies * block_slots;
	fsd_u64 with_spare = in_parts((fsd_u64)s->slots * (1000 + p->flash.spare), die * 1000);

	return at_least(with_spare, in_parts(s->slots, die) + KEPT + 1);
}

/* Returns 0 where the numbers make no disk. */
static int shape_of(const struct fsd_parameters *p, struct shape *s)
{
	const struct fsd_flash *f = &p->flash;
	fsd_u32 pages = f->block;

	if (!f->channels || !f->dies || f->channels > FSD_DIES || f->dies > FSD_DIES || f->channels * f->dies > FSD_DIES)
		return 0;
	if (f->page < FSD_SLOT || f->page % FSD_SLOT || f->page > FSD_PAGE * FSD_SLOT || !f->block || f->block > 65536)
		return 0;
	if (f->controller > p->command)
		return 0;
	if (!f->read || !f->program || !f->erase || f->spare > 10000 || f->writes_before > 10000)
		return 0;
	if (p->sectors / FSD_SLOT >= (fsd_u64)1 << 30)
		return 0;
	s->slots = p->sectors / FSD_SLOT;
	s->dies = f->channels * f->dies;
	s->page_slots = f->page / FSD_SLOT;
	while (pages > 1 && blocks_of_die(p, s, pages * s->page_slots) < BLOCKS)
		pages = (pages + 1) / 2;
	s->block_slots = pages * s->page_slots;
	s->blocks = blocks_of_die(p, s, s->block_slots);
	s->erase = f->erase * pages / f->block;
	/* Without a cache, what the dies can take at once. */
	s->room = at_least(p->cache / FSD_SLOT, (fsd_u64)s->dies * s->page_slots);
	return (fsd_u64)s->blocks * s->dies * s->block_slots < NOWHERE && p->cache < (fsd_u64)1 << 30;
}

/* Bytes of each array, in the order in which they lie. */
enum { MAP, BACK, VALID, RING, PAGE_READ, IS_FREE, WHERE, ARRAYS };

static void array_sizes(const struct shape *s, size_t *bytes)
{
	size_t blocks = (size_t)s->dies * s->blocks;

	bytes[MAP] = s->slots * sizeof(fsd_u32);
	bytes[BACK] = blocks * s->block_slots * sizeof(fsd_u32);
	bytes[VALID] = blocks * sizeof(fsd_u32);
	bytes[RING] = s->room * sizeof(fsd_u32);
	bytes[PAGE_READ] = READS * sizeof(struct page_read);
	bytes[IS_FREE] = blocks;
	bytes[WHERE] = s->slots;
}

size_t flash_size(const struct fsd_parameters *p)
{
	struct shape s;
	size_t bytes[ARRAYS], all = 0;
	int i;

	if (!shape_of(p, &s))
		return 0;
	array_sizes(&s, bytes);
	for (i = 0; i < ARRAYS; i++)
		all += (bytes[i] + 7) / 8 * 8;
	return all;
}

static fsd_u32 draw(struct flash *is)
{
	/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
	is->random ^= is->random << 13;
	is->random ^= is->random >> 17;
	is->random ^= is->random << 5;
	return is->random;
}

/* Takes an erased block of a die for the host (0) or for collection (1). */
static void open_block(struct flash *is, fsd_u32 die, int side)
{
	struct die *d = &is->die[die];
	fsd_u32 block = die * is->blocks;

	while (!is->is_free[block])
		block++;
	is->is_free[block] = 0;
	d->free--;
	d->open[side] = block;
	d->used[side] = 0;
}

/* What lay there of a slot counts no longer. */
static void drop(struct flash *is, fsd_u32 slot)
{
	fsd_u32 place = is->map[slot], block;

	if (place == NOWHERE)
		return;
	block = place / is->block_slots;
	is->back[place] = NOWHERE;
	is->map[slot] = NOWHERE;
	is->valid[block]--;
	is->die[block / is->blocks].valid--;
}

/* Puts a slot into the open block of a die. */
static void put(struct flash *is, fsd_u32 die, int side, fsd_u32 slot)
{
	struct die *d = &is->die[die];
	fsd_u32 place = d->open[side] * is->block_slots + d->used[side]++;

	drop(is, slot);
	is->map[slot] = place;
	is->back[place] = slot;
	is->valid[d->open[side]]++;
	d->valid++;
}

/* The block of a die with the least that counts. */
static fsd_u32 cheapest(const struct flash *is, fsd_u32 die)
{
	const struct die *d = &is->die[die];
	fsd_u32 block, best = NOWHERE;

	for (block = die * is->blocks; block < (die + 1) * is->blocks; block++)
		if (!is->is_free[block] && block != d->open[0] && block != d->open[1] &&
		    (best == NOWHERE || is->valid[block] < is->valid[best]))
			best = block;
	return best;
}

static fsd_u64 over_channel(const struct fsd_disk *disk, fsd_u64 slots)
{
	return time_of(slots * FSD_SLOT, disk->p.flash.channel_rate);
}

/* Moves what counts out of a block and erases it. Returns how long the die takes. */
static fsd_u64 collect(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];
	fsd_u32 victim = cheapest(is, die), first = victim * is->block_slots, moved = 0, pages = 0, programs = 0;
	fsd_u32 place, last_page = NOWHERE;

	for (place = first; place < first + is->block_slots && is->valid[victim]; place++) {
		fsd_u32 slot = is->back[place];

		if (slot == NOWHERE)
			continue;
		pages += place / is->page_slots != last_page;
		last_page = place / is->page_slots;
		if (d->used[1] == is->block_slots)
			open_block(is, die, 1);
		put(is, die, 1, slot);
		programs += d->used[1] % is->page_slots == 0;
		moved++;
	}
	is->is_free[victim] = 1;
	d->free++;
	disk->counts.slots_programmed += moved;
	disk->counts.erases++;
	/* Through the controller, which checks what it moves. */
	return pages * disk->p.flash.read + programs * disk->p.flash.program + 2 * over_channel(disk, moved) + is->erase;
}

/* Whether a die may open a block for the host, of which collection needs one. */
static int must_collect(const struct flash *is, fsd_u32 die)
{
	const struct die *d = &is->die[die];

	return d->used[0] == is->block_slots && d->free < 2;
}

/* Whether what counts leaves a die room for one page more. */
static int has_room(const struct flash *is, fsd_u32 die)
{
	return is->die[die].valid + is->page_slots <= (is->blocks - KEPT) * is->block_slots;
}

/* Writes a page at no time: what a disk has behind it. */
static void write_before(struct fsd_disk *disk, const fsd_u32 *slots)
{
	struct flash *is = &disk->is.flash;
	fsd_u32 i, die;

	for (i = 0; i < is->page_slots; i++)
		drop(is, slots[i]);
	do {
		die = is->next_die;
		is->next_die = (is->next_die + 1) % is->dies;
	} while (!has_room(is, die));
	while (must_collect(is, die))
		collect(disk, die);
	if (is->die[die].used[0] == is->block_slots)
		open_block(is, die, 0);
	for (i = 0; i < is->page_slots; i++)
		put(is, die, 0, slots[i]);
}

static void precondition(struct fsd_disk *disk)
{
	struct flash *is = &disk->is.flash;
	fsd_u64 slots = (fsd_u64)is->slots * disk->p.flash.writes_before / 100, written;
	fsd_u32 page[FSD_PAGE], filled = 0;

	for (written = 0; written < slots; written++) {
		page[filled++] = written < is->slots ? written : (((fsd_u64)draw(is) * is->slots) >> 32);
		if (filled == is->page_slots) {
			write_before(disk, page);
			filled = 0;
		}
	}
	disk->counts = (struct fsd_counts){ 0 };
}

void flash_make(struct fsd_disk *disk, void *memory)
{
	struct flash *is = &disk->is.flash;
	struct shape s;
	size_t bytes[ARRAYS];
	char *array[ARRAYS], *at = memory;
	fsd_u32 i;

	if (!shape_of(&disk->p, &s))
		return;
	array_sizes(&s, bytes);
	for (i = 0; i < ARRAYS; i++) {
		array[i] = at;
		at += (bytes[i] + 7) / 8 * 8;
	}
	is->slots = s.slots;
	is->dies = s.dies;
	is->blocks = s.blocks;
	is->block_slots = s.block_slots;
	is->page_slots = s.page_slots;
	is->erase = s.erase;
	is->room = s.room;
	is->map = (fsd_u32 *)array[MAP];
	is->back = (fsd_u32 *)array[BACK];
	is->valid = (fsd_u32 *)array[VALID];
	is->ring = (fsd_u32 *)array[RING];
	is->page_read = (struct page_read *)array[PAGE_READ];
	is->is_free = (unsigned char *)array[IS_FREE];
	is->where = (unsigned char *)array[WHERE];
	is->random = disk->p.seed ^ disk->p.seed >> 32;
	if (!is->random)
		is->random = 1;
	for (i = 0; i < is->slots; i++)
		is->map[i] = NOWHERE;
	for (i = 0; i < is->dies * is->blocks * is->block_slots; i++)
		is->back[i] = NOWHERE;
	for (i = 0; i < is->dies * is->blocks; i++)
		is->is_free[i] = 1;
	for (i = 0; i < READS; i++)
		is->page_read[i].next = i + 2 <= READS ? i + 2 : 0;
	is->free_read = 1;
	for (i = 0; i < is->dies; i++) {
		is->die[i].free = is->blocks;
		open_block(is, i, 0);
		open_block(is, i, 1);
	}
	precondition(disk);
}

/* Which part of a time that somebody waited for the cache the dies spent on making room. */
static fsd_u64 collection_in(const struct fsd_disk *disk, int place, fsd_u64 time)
{
	const struct flash *is = &disk->is.flash;
	/* Less exact, so that the product fits. */
	fsd_u64 worked = (is->worked - disk->own[place].worked) >> 16;
	fsd_u64 collected = (is->collected - disk->own[place].collected) >> 16;

	return worked ? at_most(time * collected / worked, time) : 0;
}

static void wait_for_cache(struct fsd_disk *disk, int place, enum fsd_state state)
{
	struct own *own = &disk->own[place];

	disk->request[place].state = state;
	own->waits_since = disk->now;
	own->worked = disk->is.flash.worked;
	own->collected = disk->is.flash.collected;
}

/* A request waited for the cache until now: adds that time to a part, but for what collection took of it. */
static void charge_wait(struct fsd_disk *disk, int place, enum fsd_part part)
{
	struct fsd_request *r = &disk->request[place];
	fsd_u64 time = disk->now - disk->own[place].waits_since, collection = collection_in(disk, place, time);

	r->part[FSD_COLLECTION] += collection;
	r->part[part] += time - collection;
}

/* The first slot, as they are counted, that is not on the flash yet. */
static fsd_u64 first_in_cache(const struct flash *is)
{
	fsd_u64 first = is->taken;
	fsd_u32 die;

	for (die = 0; die < is->dies; die++)
		if (is->die[die].work == PROGRAMMING)
			first = at_most(first, is->die[die].first);
	return first;
}

/* Ends what waits for slots that are on the flash now. */
static void finish_waiting(struct fsd_disk *disk)
{
	fsd_u64 first;
	int place;

	if (oldest(disk, EMPTYING) < 0)
		return;
	first = first_in_cache(&disk->is.flash);
	for (place = 0; place < disk->places; place++) {
		struct fsd_request *r = &disk->request[place];

		if (r->state != EMPTYING || disk->own[place].number > first)
			continue;
		charge_wait(disk, place, r->operation == FSD_FLUSH ? FSD_EMPTYING : FSD_CELLS);
		finish(r, disk->now);
	}
}

/* Whether there is a page to program: a full one, or one that somebody waits for. */
static int has_page(const struct flash *is)
{
	return is->written - is->taken >= is->page_slots || is->taken < is->wanted;
}

static void program(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];
	fsd_u64 *channel = &is->channel_free[die % disk->p.flash.channels];

	if (d->used[0] == is->block_slots)
		open_block(is, die, 0);
	d->first = is->taken;
	for (d->filled = 0; d->filled < is->page_slots && is->taken < is->written; is->taken++) {
		fsd_u32 slot = is->ring[is->taken % is->room];

		is->where[slot] = IN_PROGRAM;
		d->page[d->filled++] = slot;
	}
	*channel = at_least(*channel, disk->now) + over_channel(disk, d->filled);
	d->work = PROGRAMMING;
	d->until = *channel + disk->p.flash.program;
	disk->counts.slots_programmed += is->page_slots;
}

static void programmed(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];
	fsd_u32 i;

	for (i = 0; i < d->filled; i++) {
		/* What was written again in the meantime lies there for nothing. */
		if (is->where[d->page[i]] == IN_PROGRAM) {
			is->where[d->page[i]] = ON_FLASH;
			put(is, die, 0, d->page[i]);
		} else {
			d->used[0]++;
		}
	}
	d->used[0] += is->page_slots - d->filled;
	is->cached -= d->filled;
}

/* Gives an idle die what there is to do for it. */
static void set_to_work(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];

	if (d->reads) {
		d->work = READING;
		d->until = disk->now + disk->p.flash.read;
	} else if (!has_page(is) || !has_room(is, die)) {
		return;
	} else if (must_collect(is, die)) {
		d->work = COLLECTING;
		d->until = disk->now + collect(disk, die);
		is->collected += d->until - disk->now;
	} else {
		program(disk, die);
	}
	is->worked += d->until - disk->now;
}

/* Pages go to the dies in turn, to those that are idle. */
static void feed(struct fsd_disk *disk)
{
	struct flash *is = &disk->is.flash;
	fsd_u32 i;

	for (i = 0; i < is->dies && has_page(is); i++) {
		fsd_u32 die = is->next_die;

		is->next_die = (is->next_die + 1) % is->dies;
		if (is->die[die].work == IDLE)
			set_to_work(disk, die);
	}
}

/* Puts into the cache what there is room for of a write. Returns whether that is all of it. */
static int admit(struct fsd_disk *disk, int place)
{
	struct flash *is = &disk->is.flash;
	struct fsd_request *r = &disk->request[place];
	struct own *own = &disk->own[place];
	fsd_u32 first = r->sector / FSD_SLOT, end = (r->sector + r->sectors - 1) / FSD_SLOT + 1;

	for (; first + own->admitted < end; own->admitted++) {
		fsd_u32 slot = first + own->admitted;

		if (is->where[slot] == IN_RING) {
			disk->counts.slots_written++;
			continue;
		}
		if (is->cached == is->room)
			return 0;
		drop(is, slot);
		is->where[slot] = IN_RING;
		is->ring[is->written++ % is->room] = slot;
		is->cached++;
		disk->counts.slots_written++;
	}
	return 1;
}

/* Lets the writes into the cache that wait for it, in the order in which they came. */
static void admit_waiting(struct fsd_disk *disk)
{
	struct flash *is = &disk->is.flash;
	int place;

	while ((place = oldest(disk, ADMITTING)) >= 0) {
		int all = admit(disk, place);

		/* Nobody else brings the pages to an end that a write waits for. */
		if (!all)
			is->wanted = is->written;
		feed(disk);
		if (!all)
			return;
		charge_wait(disk, place, FSD_WAITING);
		if (disk->p.cache && !disk->request[place].forced) {
			finish(&disk->request[place], disk->now);
			continue;
		}
		is->wanted = disk->own[place].number = is->written;
		wait_for_cache(disk, place, EMPTYING);
		feed(disk);
	}
}

/* Asks the die on which a slot lies for its page, or for one slot more of the page that it was asked for last. */
static void ask(struct fsd_disk *disk, int place, fsd_u32 slot, fsd_u32 *last_page)
{
	struct flash *is = &disk->is.flash;
	fsd_u32 lies = is->map[slot], die, number;
	struct page_read *read;
	struct die *d;

	if (is->where[slot] != ON_FLASH || lies == NOWHERE)
		return;
	die = lies / is->block_slots / is->blocks;
	d = &is->die[die];
	if (lies / is->page_slots == *last_page) {
		is->page_read[d->last_read - 1].slots++;
		return;
	}
	*last_page = lies / is->page_slots;
	number = is->free_read;
	read = &is->page_read[number - 1];
	is->free_read = read->next;
	*read = (struct page_read){ .request = place, .slots = 1, .since = disk->now };
	if (d->work == COLLECTING)
		read->collection = d->until - disk->now;
	if (d->reads)
		is->page_read[d->last_read - 1].next = number;
	else
		d->reads = number;
	d->last_read = number;
	disk->own[place].pages++;
	if (d->work == IDLE)
		set_to_work(disk, die);
}

/* The pages of a read, or those that a write fills in part. */
static void ask_for_pages(struct fsd_disk *disk, int place)
{
	const struct fsd_request *r = &disk->request[place];
	fsd_u32 first = r->sector / FSD_SLOT, last = (r->sector + r->sectors - 1) / FSD_SLOT, slot, page = NOWHERE;

	disk->own[place].first_page = FSD_NEVER;
	if (r->operation == FSD_READ) {
		for (slot = first; slot <= last; slot++)
			ask(disk, place, slot, &page);
		return;
	}
	if (r->sector % FSD_SLOT)
		ask(disk, place, first, &page);
	if ((r->sector + r->sectors) % FSD_SLOT && (last != first || !(r->sector % FSD_SLOT)))
		ask(disk, place, last, &page);
}

/* A read crosses the link while its last pages are still read. */
static void send(struct fsd_disk *disk, int place)
{
	struct fsd_request *r = &disk->request[place];
	fsd_u64 all = time_of(r->sectors, disk->p.link_rate);
	fsd_u64 page = time_of(at_most(r->sectors, disk->p.flash.page), disk->p.link_rate);
	fsd_u64 from = at_most(disk->now, disk->own[place].first_page);

	from = at_least(from + all, disk->now + page) - all;
	finish(r, over_link(disk, from, r->sectors));
}

/* Everything that a request needs from the flash has been read. */
static void pages_are_there(struct fsd_disk *disk, int place)
{
	struct fsd_request *r = &disk->request[place];

	if (r->operation == FSD_READ) {
		send(disk, place);
		return;
	}
	wait_for_cache(disk, place, ADMITTING);
	admit_waiting(disk);
}

/* The first page that a die was asked for has left it. */
static void page_is_there(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];
	fsd_u32 number = d->reads;
	struct page_read read = is->page_read[number - 1];
	struct own *own = &disk->own[read.request];
	struct fsd_request *r = &disk->request[read.request];

	d->reads = read.next;
	if (!d->reads)
		d->last_read = 0;
	is->page_read[number - 1].next = is->free_read;
	is->free_read = number;
	own->first_page = at_most(own->first_page, disk->now);
	if (--own->pages)
		return;
	r->part[FSD_COLLECTION] = read.collection;
	r->part[FSD_CELLS] = disk->p.flash.read;
	r->part[FSD_TRANSFER] += over_channel(disk, read.slots);
	pages_are_there(disk, read.request);
}

static void discard(struct fsd_disk *disk, struct fsd_request *r)
{
	fsd_u32 slot = (r->sector + FSD_SLOT - 1) / FSD_SLOT, end = (r->sector + r->sectors) / FSD_SLOT;

	for (; slot < end; slot++)
		if (disk->is.flash.where[slot] == ON_FLASH)
			drop(&disk->is.flash, slot);
	r->part[FSD_CELLS] = disk->p.flash.unmap;
	finish(r, disk->now + disk->p.flash.unmap);
}

static void arrived(struct fsd_disk *disk, int place)
{
	struct flash *is = &disk->is.flash;
	struct fsd_request *r = &disk->request[place];

	switch (r->operation) {
	case FSD_DISCARD:
		discard(disk, r);
		return;
	case FSD_FLUSH:
		disk->own[place].number = is->written;
		if (disk->p.flash.protected || first_in_cache(is) == is->written) {
			finish(r, disk->now);
			return;
		}
		is->wanted = is->written;
		wait_for_cache(disk, place, EMPTYING);
		feed(disk);
		return;
	default:
		r->state = QUEUED;
		ask_for_pages(disk, place);
		if (!disk->own[place].pages)
			pages_are_there(disk, place);
	}
}

void flash_submit(struct fsd_disk *disk, int place)
{
	struct fsd_request *r = &disk->request[place];
	fsd_u64 *controller = &disk->is.flash.controller_free, understood;

	*controller = at_least(*controller, r->arrived) + disk->p.flash.controller;
	understood = *controller + disk->p.command - disk->p.flash.controller;
	r->state = ARRIVING;
	disk->own[place].ready = understood;
	if (r->operation == FSD_WRITE) {
		r->part[FSD_TRANSFER] = time_of(r->sectors, disk->p.link_rate);
		disk->own[place].ready = over_link(disk, understood, r->sectors);
	}
}

/* The request that arrives first; -1 where none does. */
static int arriving(const struct fsd_disk *disk)
{
	int place, first = -1;

	for (place = 0; place < disk->places; place++)
		if (disk->request[place].state == ARRIVING &&
		    (first < 0 || disk->own[place].ready < disk->own[first].ready ||
		     (disk->own[place].ready == disk->own[first].ready && disk->own[place].came < disk->own[first].came)))
			first = place;
	return first;
}

/* The die that is done with what it does first; -1 where none does anything. */
static int working(const struct flash *is)
{
	int die, first = -1;

	for (die = 0; die < (int)is->dies; die++)
		if (is->die[die].work != IDLE && (first < 0 || is->die[die].until < is->die[first].until))
			first = die;
	return first;
}

fsd_u64 flash_next(const struct fsd_disk *disk)
{
	int place = arriving(disk), die = working(&disk->is.flash);
	fsd_u64 there = place < 0 ? FSD_NEVER : disk->own[place].ready;

	return die < 0 ? there : at_most(there, disk->is.flash.die[die].until);
}

static void die_is_done(struct fsd_disk *disk, fsd_u32 die)
{
	struct flash *is = &disk->is.flash;
	struct die *d = &is->die[die];
	enum work work = d->work;

	if (work == READING) {
		fsd_u64 *channel = &is->channel_free[die % disk->p.flash.channels];

		*channel = at_least(*channel, disk->now) + over_channel(disk, is->page_read[d->reads - 1].slots);
		d->work = SENDING;
		d->until = *channel;
		return;
	}
	d->work = IDLE;
	if (work == SENDING) {
		page_is_there(disk, die);
	} else if (work == PROGRAMMING) {
		programmed(disk, die);
		finish_waiting(disk);
		admit_waiting(disk);
	}
	if (d->work == IDLE)
		set_to_work(disk, die);
}

void flash_step(struct fsd_disk *disk)
{
	int place = arriving(disk), die = working(&disk->is.flash);

	if (die >= 0 && disk->is.flash.die[die].until <= disk->now)
		die_is_done(disk, die);
	else
		arrived(disk, place);
}
