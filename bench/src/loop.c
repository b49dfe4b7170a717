/* The least that a measuring program can do: reads of one file at random offsets, or steps through many files, and
   one reading of the clock for each. What is slower than this is fsarena itself.

   loop FILE SECONDS [THREADS [OPERATIONS]]: prints operations, seconds and processor seconds. With OPERATIONS, each
   thread makes so many, however long they take.
   loop files COUNT: creates, looks at and deletes so many empty files here, whose names are made before. It reads its
   usage of the processor between the steps, which is where instructions are told apart. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static int file;
static uint64_t blocks, nanoseconds, most = UINT64_MAX;

struct worker {
  pthread_t thread;
  uint64_t state, operations, worst;
  int failed;
};

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *run(void *argument) {
  struct worker *w = argument;
  void *buffer = aligned_alloc(BLOCK, BLOCK);
  uint64_t last = now(), end = last + nanoseconds;
  while (last < end && w->operations < most) {
    /* xorshift64 (Marsaglia 2003), scaled to the number of blocks without a division */
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    uint64_t block = (uint64_t)(((unsigned __int128)w->state * blocks) >> 64);
    if (pread(file, buffer, BLOCK, (off_t)(block * BLOCK)) != BLOCK) {
      w->failed = 1;
      break;
    }
    uint64_t t = now();
    if (t - last > w->worst)
      w->worst = t - last;
    last = t;
    w->operations++;
  }
  free(buffer);
  return NULL;
}

enum { NAME = 32 };

static int create(const char *name) {
  int created = open(name, O_CREAT | O_WRONLY | O_EXCL, 0600);
  return created < 0 ? -1 : close(created);
}

static int look(const char *name) {
  struct stat found;
  return stat(name, &found);
}

static int files(size_t count) {
  int (*const steps[])(const char *) = {create, look, unlink};
  char(*names)[NAME] = calloc(count, sizeof *names);
  if (names == NULL)
    return 1;
  for (size_t i = 0; i < count; i++)
    snprintf(names[i], NAME, "%07zuabcdef", i);
  uint64_t worst = 0;
  struct rusage usage;
  for (size_t step = 0; step < sizeof steps / sizeof *steps; step++) {
    getrusage(RUSAGE_SELF, &usage);
    uint64_t last = now();
    for (size_t i = 0; i < count; i++) {
      if (steps[step](names[i]) != 0)
        return 1;
      uint64_t t = now();
      if (t - last > worst)
        worst = t - last;
      last = t;
    }
  }
  getrusage(RUSAGE_SELF, &usage);
  printf("%zu %.9f\n", count, (double)worst / 1e9);
  return 0;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  if (strcmp(arguments[1], "files") == 0)
    return files(strtoull(arguments[2], NULL, 10));
  int threads = count > 3 ? atoi(arguments[3]) : 1;
  file = open(arguments[1], O_RDONLY);
  if (file < 0)
    return 1;
  blocks = (uint64_t)lseek(file, 0, SEEK_END) / BLOCK;
  nanoseconds = (uint64_t)(atof(arguments[2]) * 1e9);
  if (count > 4) {
    most = strtoull(arguments[4], NULL, 10);
    nanoseconds = UINT64_MAX / 2;
  }
  if (threads < 1 || blocks == 0)
    return 2;
  struct worker *workers = calloc((size_t)threads, sizeof *workers);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  uint64_t start = now(), operations = 0;
  for (int i = 0; i < threads; i++) {
    workers[i].state = 88172645463325252u + (uint64_t)i * 2654435761u;
    if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
      return 1;
  }
  int failed = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    operations += workers[i].operations;
    failed |= workers[i].failed;
  }
  double elapsed = (double)(now() - start) / 1e9;
  getrusage(RUSAGE_SELF, &after);
  double processor = seconds(after.ru_utime) - seconds(before.ru_utime) + seconds(after.ru_stime) -
                     seconds(before.ru_stime);
  printf("%llu %.9f %.6f\n", (unsigned long long)operations, elapsed, processor);
  return failed;
}
