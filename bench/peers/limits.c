/*
 * limits measures what this machine can do at best, whatever the library: copying memory, entering the kernel, and
 * waking another thread. Rows of test limits, peer raw. What takes less than some microseconds is repeated and divided,
 * since the clock itself takes tens of nanoseconds.
 */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report(int ranks, const char *kase, long size, const char *measure, const char *unit, double *xs, int n)
{
	struct row r = {"limits", "raw", "thread", "none", ranks, kase, size, measure, unit};

	write_row(&r, xs, n);
}

/* Copying memory. */

static void measure_memcpy(long size)
{
	const long least = MIB; /* bytes of a measurement */
	int n = 200, times = (int)(size < least ? least / size : 1);
	unsigned char *from = buffer_new((size_t)size), *to = buffer_new((size_t)size);
	double *xs = allocate((size_t)n * sizeof *xs);

	for (int i = -5; i < n; i++) {
		int64_t start = now_ns();

		for (int j = 0; j < times; j++) {
			memcpy(to, from, (size_t)size);
			__asm__ volatile("" : : "r"(to) : "memory"); /* the copy is used */
		}
		xs[i > 0 ? i : 0] = (double)size * times / micros(start);
	}
	report(1, "memcpy", size, "bandwidth", "MB/s", xs, n);
	free(from);
	free(to);
	free(xs);
}

/* Entering the kernel: getppid, which does nothing there. */

static void measure_syscall(void)
{
	enum { n = 1000, times = 100 };
	double xs[n];

	for (int i = -10; i < n; i++) {
		int64_t start = now_ns();

		for (int j = 0; j < times; j++)
			syscall(SYS_getppid);
		xs[i > 0 ? i : 0] = micros(start) * 1e3 / times;
	}
	report(1, "syscall", 0, "time", "ns", xs, n);
}

/* Waking another thread: two of them take turns, each sleeping until the other wakes it. */

/* bell wakes whoever waits for it. Of the fields each kind uses its own. */
struct bell {
	_Atomic uint32_t word; /* futex: 1 if rung */
	int read, write;       /* descriptors; the same of an eventfd */
};

static void wake_failed(const char *what)
{
	die("%s: %s", what, strerror(errno));
}

static void futex_ring(struct bell *b)
{
	atomic_store(&b->word, 1);
	if (syscall(SYS_futex, &b->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
		wake_failed("futex");
}

static void futex_wait(struct bell *b)
{
	while (atomic_exchange(&b->word, 0) == 0)
		if (syscall(SYS_futex, &b->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) < 0 && errno != EAGAIN && errno != EINTR)
			wake_failed("futex");
}

static void futex_open(struct bell *b)
{
	atomic_store(&b->word, 0);
	b->read = b->write = -1;
}

static void eventfd_open(struct bell *b)
{
	if ((b->read = b->write = eventfd(0, EFD_CLOEXEC)) < 0)
		wake_failed("eventfd");
}

static void pipe_open(struct bell *b)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		wake_failed("pipe");
	b->read = ends[0];
	b->write = ends[1];
}

static void descriptor_ring(struct bell *b)
{
	const uint64_t one = 1;

	if (write(b->write, &one, sizeof one) != sizeof one)
		wake_failed("write");
}

static void descriptor_wait(struct bell *b)
{
	uint64_t value;

	if (read(b->read, &value, sizeof value) != sizeof value)
		wake_failed("read");
}

static void bell_close(struct bell *b)
{
	if (b->read >= 0)
		close(b->read);
	if (b->write >= 0 && b->write != b->read)
		close(b->write);
}

/* kind is one way to wake. */
struct kind {
	const char *name, *measure;
	int one_core; /* both threads on one core, so that each wake is a switch between them */
	double parts; /* of a round trip that are reported */
	void (*open)(struct bell *b);
	void (*ring)(struct bell *b);
	void (*wait)(struct bell *b);
};

static const struct kind kinds[] = {
	{"futex", "round-trip", 0, 1, futex_open, futex_ring, futex_wait},
	{"eventfd", "round-trip", 0, 1, eventfd_open, descriptor_ring, descriptor_wait},
	{"pipe", "round-trip", 0, 1, pipe_open, descriptor_ring, descriptor_wait},
	{"context-switch", "switch", 1, 2, futex_open, futex_ring, futex_wait},
};

enum { rounds = 2000, warm_rounds = 200 };

/* game is what the two threads share. */
struct game {
	const struct kind *kind;
	struct bell there, back;
};

static void *answer(void *shared)
{
	struct game *g = shared;

	for (int i = 0; i < warm_rounds + rounds; i++) {
		g->kind->wait(&g->there);
		g->kind->ring(&g->back);
	}
	return NULL;
}

/* bind_to_core lets this thread, and those that it starts, run on one core that it may use. */
static void bind_to_core(cpu_set_t *before)
{
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof *before, before) != 0)
		wake_failed("sched_getaffinity");
	CPU_ZERO(&one);
	for (int core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, before)) {
			CPU_SET(core, &one);
			break;
		}
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		wake_failed("sched_setaffinity");
}

static void measure_wake(const struct kind *k)
{
	struct game g = {.kind = k};
	double xs[rounds];
	cpu_set_t before;
	pthread_t thread;

	if (k->one_core)
		bind_to_core(&before);
	k->open(&g.there);
	k->open(&g.back);
	if ((errno = pthread_create(&thread, NULL, answer, &g)) != 0)
		wake_failed("pthread_create");
	for (int i = -warm_rounds; i < rounds; i++) {
		int64_t start = now_ns();

		k->ring(&g.there);
		k->wait(&g.back);
		xs[i > 0 ? i : 0] = micros(start) / k->parts;
	}
	pthread_join(thread, NULL);
	bell_close(&g.there);
	bell_close(&g.back);
	if (k->one_core && sched_setaffinity(0, sizeof before, &before) != 0)
		wake_failed("sched_setaffinity");
	report(2, k->name, 0, k->measure, "us", xs, rounds);
}

int main(int argc, char **argv)
{
	struct sizes sizes = parse_sizes("1K,4K,16K,64K,256K,1M,4M,16M,64M");

	if (argc == 3 && strcmp(argv[1], "-sizes") == 0)
		sizes = parse_sizes(argv[2]);
	else if (argc != 1)
		die("usage: limits [-sizes 1K,1M]     bytes that memcpy copies");
	write_header();
	for (int i = 0; i < sizes.n; i++) {
		if (sizes.at[i] < 1)
			die("size %ld: need 1 or more", sizes.at[i]);
		measure_memcpy(sizes.at[i]);
	}
	measure_syscall();
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		measure_wake(&kinds[k]);
	return 0;
}
