/* A plugin of QEMU that counts the instructions of a guest: those of programs and those of the kernel apart, and the
   former by address. It changes nothing in the guest, whose clock counts the same instructions without it.

   to=FILE               where the counts go when the guest is switched off
   call=N, call=M …      a part begins with each system call of one of these numbers that follows on one of another
   each=N                a part begins with each system call of this number

   The file has a line `part PROGRAMS KERNEL` for each part, the first of which begins with the guest, and below it the
   counts of programs, `ADDRESS COUNT`, by the address of a straight piece of code (QEMU's translation block).

   QEMU's headers are not needed: what is used of them stands here (docs/devel/tcg-plugins.rst of QEMU, version 1). */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, ADD = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin, void (*)(plugin, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_atexit_cb(plugin, void (*)(plugin, void *), void *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* Blocks of code; more than any guest here has. */
enum { SLOTS = 1 << 22, CALLS = 512 };

static struct block {
  uint64_t address, count, before;
} blocks[SLOTS];
static size_t used[SLOTS], blocks_used;

enum kind { NOTHING, CALL, EACH };
static enum kind kinds[CALLS];
static intptr_t last;
static FILE *file;

static bool is_kernel(uint64_t address) { return address >> 63; }

/* The block of an address: a new one where it has none. */
static struct block *block_at(uint64_t address) {
  size_t slot = (address * 0x9e3779b97f4a7c15u) >> 42;
  while (blocks[slot].address != address && blocks[slot].address != 0)
    slot = (slot + 1) % SLOTS;
  if (blocks[slot].address == 0) {
    blocks[slot].address = address;
    used[blocks_used++] = slot;
    if (blocks_used == SLOTS) {
      fprintf(stderr, "count: too much code\n");
      exit(1);
    }
  }
  return &blocks[slot];
}

static void end_part(void) {
  uint64_t programs = 0, kernel = 0;
  for (size_t i = 0; i < blocks_used; i++) {
    struct block *b = &blocks[used[i]];
    *(is_kernel(b->address) ? &kernel : &programs) += b->count - b->before;
  }
  fprintf(file, "part %" PRIu64 " %" PRIu64 "\n", programs, kernel);
  for (size_t i = 0; i < blocks_used; i++) {
    struct block *b = &blocks[used[i]];
    if (b->count != b->before && !is_kernel(b->address))
      fprintf(file, "%" PRIx64 " %" PRIu64 "\n", b->address, b->count - b->before);
    b->before = b->count;
  }
}

static void called(unsigned processor, void *number) {
  (void)processor;
  intptr_t call = (intptr_t)number;
  if (kinds[call] == EACH || call != last)
    end_part();
  last = call;
}

/* The number that an instruction puts into EAX (`mov $number, %eax`), or -1. */
static int64_t number_in(const struct qemu_plugin_insn *instruction) {
  const uint8_t *bytes = qemu_plugin_insn_data(instruction);
  uint32_t number;
  if (qemu_plugin_insn_size(instruction) != 5 || bytes[0] != 0xb8)
    return -1;
  memcpy(&number, bytes + 1, sizeof number);
  return number;
}

static bool is_system_call(const struct qemu_plugin_insn *instruction) {
  const uint8_t *bytes = qemu_plugin_insn_data(instruction);
  return qemu_plugin_insn_size(instruction) == 2 && bytes[0] == 0x0f && bytes[1] == 0x05;
}

static void translated(plugin id, struct qemu_plugin_tb *tb) {
  (void)id;
  uint64_t address = qemu_plugin_tb_vaddr(tb);
  struct block *block = block_at(address);
  int64_t number = -1;
  for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
    struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(tb, i);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD, &block->count, 1);
    int64_t put = number_in(instruction);
    if (put >= 0)
      number = put;
    bool marked = number >= 0 && number < CALLS && kinds[number] != NOTHING;
    if (marked && !is_kernel(address) && is_system_call(instruction))
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, called, NO_REGISTERS, (void *)(intptr_t)number);
  }
}

static void ended(plugin id, void *nothing) {
  (void)id;
  (void)nothing;
  end_part();
  fclose(file);
}

static bool mark(const char *number, enum kind kind) {
  long call = strtol(number, NULL, 10);
  if (call <= 0 || call >= CALLS)
    return false;
  kinds[call] = kind;
  return true;
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin id, const void *info, int count,
                                                               char **arguments) {
  (void)info;
  for (int i = 0; i < count; i++) {
    char *value = strchr(arguments[i], '=');
    if (value == NULL)
      return -1;
    *value++ = 0;
    bool known = false;
    if (strcmp(arguments[i], "to") == 0)
      known = (file = fopen(value, "w")) != NULL;
    else if (strcmp(arguments[i], "call") == 0)
      known = mark(value, CALL);
    else if (strcmp(arguments[i], "each") == 0)
      known = mark(value, EACH);
    if (!known)
      return -1;
  }
  if (file == NULL)
    return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
