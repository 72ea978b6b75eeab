/* Test scale: what a rank costs when there are many, to start it, to keep it, and to pass a message on. */
#define _GNU_SOURCE
#include "mpibench.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* read_proc reads a small file of /proc. */
static void read_proc(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "r");
	size_t n;

	if (f == NULL)
		die("cannot read %s", path);
	n = fread(text, 1, room - 1, f);
	text[n] = '\0';
	fclose(f);
}

static int64_t main_began;  /* now_ns when main did */
static double burnt;        /* ms of processor time that this process had used by then */

void before_scale(const struct options *opt)
{
	struct rusage u;

	(void)opt;
	main_began = now_ns();
	getrusage(RUSAGE_SELF, &u);
	burnt = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* since_start_tick is the time in ms since the tick, of 10 ms as a rule, in which the kernel says that this process began. */
static double since_start_tick(void)
{
	char text[2048], *after_name;
	struct timespec now;
	unsigned long long ticks;

	read_proc("/proc/self/stat", text, sizeof text);
	after_name = strrchr(text, ')');
	/* starttime is field 22 of proc(5), the name is field 2. */
	if (after_name == NULL ||
	    sscanf(after_name + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
		die("/proc/self/stat has no start time");
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 - (double)ticks * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

/*
 * age is for how many ms this process has existed, or a little less: the time since main, and the processor time that
 * loading it had cost before. What is missing is time for which it waited then; where the tick proves that to be more,
 * the tick counts. cmd/fitbench reckons in the same way.
 */
static double age(void)
{
	double by_clock = micros(main_began) / 1e3 + burnt;
	double by_tick = since_start_tick() - 1e3 / (double)sysconf(_SC_CLK_TCK);

	return by_clock > by_tick ? by_clock : by_tick;
}

/* resident is the resident set of this process, in bytes. */
static double resident(void)
{
	char text[256];
	long pages;

	read_proc("/proc/self/statm", text, sizeof text);
	if (sscanf(text, "%*s %ld", &pages) != 1)
		die("/proc/self/statm has no resident set");
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* descriptors is how many descriptors this process has open. */
static double descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	double n = -1; /* the one of the directory itself */

	if (d == NULL)
		die("cannot read /proc/self/fd");
	for (struct dirent *entry; (entry = readdir(d)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

/* cores_of_job is how many cores the ranks of the job may use together. */
static int cores_of_job(void)
{
	cpu_set_t mine, all;

	if (sched_getaffinity(0, sizeof mine, &mine) != 0)
		die("cannot tell the cores of this process");
	MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
	return CPU_COUNT(&all);
}

/* struct ring is what one rank passes on. */
struct ring {
	int left, right, size;
	unsigned char *out, *in;
};

static void pass(const struct ring *g)
{
	MPI_Request r;

	MPI_Irecv(g->in, g->size, MPI_BYTE, g->left, data_tag, MPI_COMM_WORLD, &r);
	MPI_Send(g->out, g->size, MPI_BYTE, g->right, data_tag, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

enum { RING_MICROS = 1000000 }; /* about how long the ring turns at most */

/* turns is how many of n turns are measured, if w turns took so many microseconds. Rank 0 decides. */
static int turns(struct env *e, int n, int w, double took)
{
	int count = n;

	if (w > 0 && RING_MICROS * (double)w / (took > 1 ? took : 1) < n)
		count = at_least(5, (int)(RING_MICROS * (double)w / (took > 1 ? took : 1)));
	if (count > n)
		count = n;
	MPI_Bcast(&count, 1, MPI_INT, 0, e->control);
	return count;
}

/*
 * measure_ring lets every rank send to the right and receive from the left. The time of a repetition is multiplied by
 * the number of cores for each rank: the part of it that is one message's, if all cores are busy with messages. The time of
 * all repetitions together is reported too: where ranks take turns on a core, each has its long repetition at another time.
 */
static void measure_ring(struct env *e, long size)
{
	int n = iterations(e, 2000), w = warmup(e, n), cores = cores_of_job();
	struct ring g = {
		.left = (e->rank + e->ranks - 1) % e->ranks, .right = (e->rank + 1) % e->ranks, .size = (int)size,
		.out = buffer_new((size_t)size), .in = buffer_new((size_t)size),
	};
	double share = (double)(cores < e->ranks ? cores : e->ranks) / e->ranks, *xs, mean;
	int64_t begun;

	MPI_Barrier(MPI_COMM_WORLD);
	begun = now_ns();
	for (int i = 0; i < w; i++)
		pass(&g);
	n = turns(e, n, w, micros(begun));
	xs = samples(n);
	begun = now_ns();
	for (int i = 0; i < n; i++) {
		int64_t start = now_ns();

		pass(&g);
		xs[i] = micros(start) * share;
	}
	mean = micros(begun) * share / n;
	report_slowest(e, "ring", size, "per-message", "us", xs, n);
	report_slowest(e, "ring", size, "mean-per-message", "us", &mean, 1);
	free(g.out);
	free(g.in);
	free(xs);
}

void run_scale(struct env *e)
{
	static const char *const names[] = {"ring", NULL};
	double init, rss, fds;

	check_case(e, names);
	MPI_Barrier(MPI_COMM_WORLD);
	init = age();
	rss = resident();
	fds = descriptors();
	report_slowest(e, "", 0, "rss", "bytes", &rss, 1);
	report_slowest(e, "", 0, "fds", "1", &fds, 1);
	report_slowest(e, "", 0, "init", "ms", &init, 1);
	for (int s = 0; s < e->opt->sizes.n; s++)
		measure_ring(e, e->opt->sizes.at[s]);
	MPI_Barrier(MPI_COMM_WORLD);
}
