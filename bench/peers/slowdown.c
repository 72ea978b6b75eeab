/* Test slowdown: what a job costs a rank that computes, when the job is idle and when messages arrive. */
#include "mpibench.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
	by_default = 100,      /* repetitions of a loop */
	first_window = 16,     /* messages that arrive during a loop; doubled until they last */
	last_window = 1 << 14,
	walks = 8,             /* over memory, in one loop of it */
	stride = 64 / sizeof(uint64_t), /* a word a cache line */
};

static const int64_t loop_time = 10000000; /* ns, of case compute */
static const size_t memory_bytes = 64 * (size_t)MIB;

static uint64_t *memory; /* of case memory */

static double loop_compute(void)
{
	return timed_compute(loop_time) / 1e3;
}

/* loop_memory reads a word of each cache line of memory, several times. */
static double loop_memory(void)
{
	int64_t start = now_ns();

	for (int walk = 0; walk < walks; walk++)
		for (volatile uint64_t *p = memory; p < memory + memory_bytes / sizeof *memory; p += stride)
			(void)*p;
	return micros(start) / 1e3;
}

static const struct {
	const char *name;
	double (*run)(void); /* in ms */
} loops[] = {{"compute", loop_compute}, {"memory", loop_memory}};

enum { n_loops = sizeof loops / sizeof loops[0] };

static double *alone[n_loops]; /* measured before MPI_Init at rank 0 */

/* rank_before_init is the rank as launchers tell it. */
static int rank_before_init(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");

	if (rank == NULL)
		rank = getenv("PMI_RANK");
	if (rank == NULL)
		die("neither OMPI_COMM_WORLD_RANK nor PMI_RANK is set: start the job with mpirun");
	return atoi(rank);
}

/* warm is how many loops come before those that count. */
static int warm(const struct options *opt)
{
	return opt->warmup >= 0 ? opt->warmup : 5;
}

static int count(const struct options *opt)
{
	return opt->iterations > 0 ? opt->iterations : by_default;
}

/* before_slowdown measures at rank 0 only: a loop of another rank beside it would not leave it alone. */
void before_slowdown(const struct options *opt)
{
	int n = count(opt);

	if (rank_before_init() != 0)
		return;
	memory = (uint64_t *)buffer_new(memory_bytes);
	for (int l = 0; l < n_loops; l++) {
		alone[l] = samples(n);
		for (int i = -warm(opt); i < n; i++)
			alone[l][i > 0 ? i : 0] = loops[l].run();
	}
}

/* tell gives rank 1 a number: of messages to send, or nothing_more. */
static void tell(struct env *e, int n)
{
	MPI_Send(&n, 1, MPI_INT, 1, 0, e->control);
}

static const int nothing_more = 0;

/*
 * obey lets rank 1 send what it is told to. Until it is told it sleeps, and looks once a millisecond, so that it does
 * not poll beside the rank that is measured.
 */
static void obey(struct env *e)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	unsigned char *b = buffer_new(MIB);
	MPI_Request *r = allocate(last_window * sizeof *r), told;

	for (;;) {
		int n, done;

		MPI_Irecv(&n, 1, MPI_INT, 0, 0, e->control, &told);
		MPI_Test(&told, &done, MPI_STATUS_IGNORE);
		while (!done) {
			nanosleep(&ms, NULL);
			MPI_Test(&told, &done, MPI_STATUS_IGNORE);
		}
		if (n == nothing_more)
			break;
		for (int i = 0; i < n; i++)
			MPI_Isend(b, MIB, MPI_BYTE, 0, data_tag, MPI_COMM_WORLD, &r[i]);
		MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
	}
	free(b);
	free(r);
}

/* stream is what rank 0 needs to let messages arrive. */
struct stream {
	unsigned char *in;
	MPI_Request *requests; /* last_window */
};

/*
 * loop_in_stream runs the loop from the arrival of the first of window messages on; *lasted says that more of them were
 * to come when it ended.
 */
static double loop_in_stream(struct env *e, int l, struct stream *s, int window, int *lasted)
{
	double took;
	int over;

	for (int i = 0; i < window; i++)
		MPI_Irecv(s->in, MIB, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD, &s->requests[i]);
	tell(e, window);
	MPI_Wait(&s->requests[0], MPI_STATUS_IGNORE);
	took = loops[l].run();
	MPI_Test(&s->requests[window - 1], &over, MPI_STATUS_IGNORE);
	MPI_Waitall(window, s->requests, MPI_STATUSES_IGNORE);
	*lasted = !over;
	return took;
}

/* measure_moving times n loops during which messages arrive. If those of a loop did not last, it does not count. */
static void measure_moving(struct env *e, int l, double *xs, int n)
{
	struct stream s = {buffer_new(MIB), allocate(last_window * sizeof(MPI_Request))};
	int window = first_window;

	for (int i = -warm(e->opt); i < n;) {
		int lasted;
		double took = loop_in_stream(e, l, &s, window, &lasted);

		if (lasted) {
			xs[i > 0 ? i : 0] = took;
			i++;
			continue;
		}
		if (window == last_window)
			die("%d messages arrive before the loop %s ends", window, loops[l].name);
		window *= 2;
	}
	free(s.in);
	free(s.requests);
}

static void measure_loop(struct env *e, int l)
{
	int n = count(e->opt);
	double *idle = samples(n), *moving = samples(n);

	for (int i = -warm(e->opt); i < n; i++)
		idle[i > 0 ? i : 0] = loops[l].run();
	measure_moving(e, l, moving, n);
	report(e, 0, loops[l].name, 0, "alone", "ms", alone[l], n);
	report(e, 0, loops[l].name, 0, "idle", "ms", idle, n);
	report(e, 0, loops[l].name, MIB, "moving", "ms", moving, n);
	free(idle);
	free(moving);
}

/* cpu_time is the processor time of this process in us. */
static double cpu_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* measure_idle_cpu tells what part of a core this process uses while its user sleeps and nothing is outstanding. */
static void measure_idle_cpu(struct env *e)
{
	const struct timespec interval = {.tv_sec = 2};
	int64_t start = now_ns();
	double before = cpu_time(), percent;

	nanosleep(&interval, NULL);
	percent = 100 * (cpu_time() - before) / micros(start);
	report(e, 0, "", 0, "idle-cpu", "%", &percent, 1);
}

void run_slowdown(struct env *e)
{
	static const char *const names[] = {"compute", "memory", NULL};

	check_case(e, names);
	if (e->rank == 1)
		obey(e);
	if (e->rank != 0)
		return;
	for (int l = 0; l < n_loops; l++)
		if (wants(e, loops[l].name))
			measure_loop(e, l);
	if (*e->opt->kase == '\0')
		measure_idle_cpu(e);
	tell(e, nothing_more);
	free(memory);
	for (int l = 0; l < n_loops; l++)
		free(alone[l]);
}
