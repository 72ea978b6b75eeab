/*
 * mpibench measures an MPI library of C in the way that cmd/fitbench measures FitMPI, and prints the same rows:
 * bench/METHOD.md says what each test does. The same source is built with each library's compiler.
 */
#include "finalize.h"
#include "mpibench.h"
#include "solving.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_SIZES "1,8,64,512,1K,4K,16K,64K,128K,256K,512K,1M,4M,16M"
#define BANDWIDTH_SIZES "8,64,1K,8K,64K,1M,4M"

static const struct test tests[] = {
	{"pingpong", "half the round trip of one message", LATENCY_SIZES, 2, 0, NULL, run_pingpong},
	{"pingping", "both ranks send at once", LATENCY_SIZES, 2, 0, NULL, run_pingping},
	{"bw", "bandwidth of a window of messages", BANDWIDTH_SIZES, 2, 0, NULL, run_bw},
	{"bibw", "the same in both directions", BANDWIDTH_SIZES, 2, 0, NULL, run_bibw},
	{"rate", "messages a second", "8", 2, 0, NULL, run_rate},
	{"match", "cost of long queues of messages or receives", "45,1000,10000", 2, 0, NULL, run_match},
	{"send", "Send and Recv when the other rank is late", "1K,4K,16K,64K,128K,256K,512K,1M,4M,16M", 2, 1, NULL, run_send},
	{"isend-wait", "Wait after computing longer than the transfer", "10,100,1K,10K,64K,128K,256K,512K,1M,4M,16M", 2, 1,
	 NULL, run_isend_wait},
	{"overlap", "how much of the transfer computation hides", "4K,16K,64K,256K,1M,4M,16M", 2, 1, NULL, run_overlap},
	{"solve", "an iteration of an exchange beside a fixed amount of work", SOLVE_SIZES, 2, 1, NULL, run_solve},
	{"coll", "collectives", "8,1K,16K,64K,1M", 1, 0, NULL, run_coll},
	{"slowdown", "what an idle job and moving messages cost computation", "", 2, 1, before_slowdown, run_slowdown},
	{"scale", "cost of a message and of the job with many ranks", "8", 1, 0, before_scale, run_scale},
	{"duplex", "one message each way at once, twice, beside a round trip", LATENCY_SIZES, 2, 0, NULL, run_duplex},
	{"multi", "ping-pong and ping-ping of all pairs of ranks at once", "8,1K,64K,1M", 2, 0, NULL, run_multi},
	{"queued", "half a round trip while receives that do not match, or messages, wait", "8,1K,64K,1M", 2, 0, NULL, run_queued},
	{"histogram", "how half round trips are distributed", "8,64K", 2, 0, NULL, run_histogram},
	{"bsend", "what a buffered send costs while the receiver is late", "1K,4K,16K,64K,128K,256K,512K,1M,4M,16M", 2, 1, NULL, run_bsend},
	{"types", "Allreduce by type of element and by operation", "8,1K,64K,1M", 1, 0, NULL, run_types},
};

enum { n_tests = sizeof tests / sizeof tests[0] };

static void usage(void)
{
	printf("usage: mpirun -np 2 mpibench TEST [options]\n\ntests:\n");
	for (int i = 0; i < n_tests; i++)
		printf("  %-11s %s\n", tests[i].name, tests[i].about);
	printf("\noptions:\n"
	       "  -sizes 8,64K,1M     bytes of a message; of match, depths of the queue\n"
	       "  -case NAME          only this case; of overlap, a nonblocking collective such as iallreduce\n"
	       "  -iterations N       measurements of each figure (default: by size)\n"
	       "  -warmup N           repetitions before measuring (default: a tenth, at least 5)\n"
	       "  -any                in pingpong: receive by MPI_ANY_SOURCE and MPI_ANY_TAG (case any)\n"
	       "  -window N           messages on their way at once in bw, bibw and rate (default: 64, from 1 MiB 16)\n"
	       "  -late 100ms         how late the late rank of test send is\n"
	       "  -pace N             steps of work in a millisecond, so that several jobs do the same work (default: as calibrated)\n"
	       "  -peer NAME          for the column of that name (default: openmpi or mpich)\n"
	       "  -transport tcp|shm  for the column of that name (default: tcp)\n"
	       "  -policy none|thread thread: the library has a progress thread (default: none)\n");
	exit(0);
}

static const struct test *find_test(const char *name)
{
	for (int i = 0; i < n_tests; i++)
		if (strcmp(tests[i].name, name) == 0)
			return &tests[i];
	die("no test %s: -help lists them", name);
}

static void set_option(struct options *opt, const char *name, const char *value)
{
	if (strcmp(name, "sizes") == 0)
		opt->sizes = parse_sizes(value);
	else if (strcmp(name, "case") == 0)
		opt->kase = value;
	else if (strcmp(name, "iterations") == 0)
		opt->iterations = parse_count(name, value, 0);
	else if (strcmp(name, "warmup") == 0)
		opt->warmup = parse_count(name, value, -1);
	else if (strcmp(name, "window") == 0)
		opt->window = parse_count(name, value, 0);
	else if (strcmp(name, "late") == 0)
		opt->late = parse_duration(value);
	else if (strcmp(name, "any") == 0)
		opt->any = 1;
	else if (strcmp(name, "pace") == 0)
		opt->pace = parse_count(name, value, 0);
	else if (strcmp(name, "peer") == 0)
		opt->peer = value;
	else if (strcmp(name, "transport") == 0)
		opt->transport = value;
	else if (strcmp(name, "policy") == 0)
		opt->policy = value;
	else
		die("no option -%s: -help lists them", name);
}

#ifdef OPEN_MPI
static const char this_peer[] = "openmpi";
#else
static const char this_peer[] = "mpich";
#endif

static struct options parse_options(char **argv)
{
	static const char *const flags[] = {"help", "h", "any", NULL};
	struct options opt = {.peer = this_peer, .transport = "tcp", .policy = "none", .kase = "", .warmup = -1, .late = 100000000};
	struct arguments a = {.at = argv + 1};
	const char *name, *value;

	while (next_argument(&a, flags, &name, &value)) {
		if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
			usage();
		if (*name != '\0')
			set_option(&opt, name, value);
		else if (opt.test != NULL)
			die("one test at a time: %s or %s?", opt.test->name, value);
		else
			opt.test = find_test(value);
	}
	if (opt.test == NULL)
		die("name a test: -help lists them");
	if (opt.sizes.n == 0 && *opt.test->sizes != '\0')
		opt.sizes = parse_sizes(opt.test->sizes);
	for (int i = 0; i < opt.sizes.n; i++)
		if (opt.sizes.at[i] > INT_MAX)
			die("size %ld: MPI counts at most %d elements", opt.sizes.at[i], INT_MAX);
	if (strcmp(opt.policy, "none") != 0 && strcmp(opt.policy, "thread") != 0)
		die("-policy %s: choose none or thread", opt.policy);
	return opt;
}

/*
 * init starts MPI. One thread calls it, so no level above MPI_THREAD_SINGLE is asked for, with its locks: but
 * MPICH's progress thread is a caller like any other, and needs MPI_THREAD_MULTIPLE. Open MPI's is below the calls.
 */
static void init(const struct options *opt, int *argc, char ***argv)
{
	int need = MPI_THREAD_SINGLE, have;

#ifndef OPEN_MPI
	if (strcmp(opt->policy, "thread") == 0)
		need = MPI_THREAD_MULTIPLE;
#else
	(void)opt;
#endif
	MPI_Init_thread(argc, argv, need, &have);
	if (have < need)
		die("the library has no MPI_THREAD_MULTIPLE, which its progress thread needs");
}

static void finalize(struct env *e)
{
	MPI_Barrier(e->control);
	if (e->rank == 0)
		write_end();
	MPI_Comm_free(&e->control);
	finalize_soon();
}

int main(int argc, char **argv)
{
	struct options opt = parse_options(argv);
	struct env e = {.opt = &opt};

	if (opt.pace > 0)
		set_pace(opt.pace);
	else if (opt.test->computes)
		calibrate();
	if (opt.test->before != NULL)
		opt.test->before(&opt);
	init(&opt, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &e.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &e.ranks);
	MPI_Comm_dup(MPI_COMM_WORLD, &e.control);
	if (e.ranks < opt.test->min_ranks)
		die("test %s needs %d ranks or more, this job has %d", opt.test->name, opt.test->min_ranks, e.ranks);
	if (e.rank == 0)
		write_header();
	opt.test->run(&e);
	finalize(&e);
	return 0;
}
