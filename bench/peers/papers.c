/* Tests that only the papers ask for: cmd/fitbench/papers.go in C. */
#include "mpibench.h"

#include <stdio.h>
#include <stdlib.h>

/* pair is what one rank of a pair has for messages of one size, and how often they are measured. */
struct pair {
	int size, n, warm;
	unsigned char *out, *in;
};

static struct pair pair_new(struct env *e, long size)
{
	struct pair p = {.size = (int)size, .n = iterations(e, repetitions(size))};

	p.warm = warmup(e, p.n);
	p.out = buffer_new((size_t)size);
	p.in = buffer_new((size_t)size);
	return p;
}

static void pair_free(struct pair *p)
{
	free(p->out);
	free(p->in);
}

/* Test duplex. */

static void measure_duplex(struct env *e, struct pair *p)
{
	double *trips = samples(p->n), *exchanges = samples(p->n), *ratios = samples(p->n);

	sync_pair(e);
	for (int i = -p->warm; i < p->n; i++) {
		int at = i > 0 ? i : 0; /* 0 is overwritten by the first that counts */
		int64_t start = now_ns();

		bounce(e, p->out, p->in, p->size);
		trips[at] = micros(start);
		start = now_ns();
		for (int twice = 0; twice < 2; twice++)
			cross(e, p->out, p->in, p->size);
		exchanges[at] = micros(start);
		ratios[at] = exchanges[at] / trips[at];
	}
	report(e, 0, "pingpong", p->size, "time", "us", trips, p->n);
	report(e, 0, "pingping", p->size, "time", "us", exchanges, p->n);
	report(e, 0, "", p->size, "ratio", "1", ratios, p->n);
	free(trips);
	free(exchanges);
	free(ratios);
}

void run_duplex(struct env *e)
{
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		struct pair p = pair_new(e, e->opt->sizes.at[s]);

		measure_duplex(e, &p);
		pair_free(&p);
	}
}

/* Test multi. The last of an odd number of ranks looks on. */

static const struct multi_case {
	const char *name, *measure;
	double parts; /* a repetition is so many times what is reported */
	void (*once)(struct env *e, unsigned char *out, unsigned char *in, int size);
} multi_cases[] = {
	{"pingpong", "half-rtt", 2, bounce},
	{"pingping", "exchange", 1, cross},
};

static void measure_multi(struct env *e, const struct multi_case *c, struct pair *p)
{
	double *xs = samples(p->n);

	for (int i = 0; i < p->n; i++)
		xs[i] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; partner(e) < e->ranks && i < p->warm + p->n; i++) {
		int64_t start = now_ns();

		c->once(e, p->out, p->in, p->size);
		if (i >= p->warm)
			xs[i - p->warm] = micros(start) / c->parts;
	}
	report_slowest(e, c->name, p->size, c->measure, "us", xs, p->n);
	free(xs);
}

void run_multi(struct env *e)
{
	static const char *const names[] = {"pingpong", "pingping", NULL};

	check_case(e, names);
	for (size_t c = 0; c < sizeof multi_cases / sizeof multi_cases[0]; c++)
		for (int s = 0; wants(e, multi_cases[c].name) && s < e->opt->sizes.n; s++) {
			struct pair p = pair_new(e, e->opt->sizes.at[s]);

			measure_multi(e, &multi_cases[c], &p);
			pair_free(&p);
		}
}

/* Test queued. */

enum { queued_bytes = 8, queue_tag = 100 }; /* of what waits; ping-pong uses data_tag, below it */

static const struct queue_case {
	const char *name;
	int depth;
	int posted; /* receives wait, else messages */
} queue_cases[] = {
	{"none", 0, 1},           {"posted-100", 100, 1},       {"posted-1000", 1000, 1},
	{"unexpected-100", 100, 0}, {"unexpected-1000", 1000, 0},
};

/* waiting is what waits at one rank, and what it has sent of what waits at the other. */
struct waiting {
	int depth;
	unsigned char *out, *in;
	MPI_Request *receives, *sends;
};

static void post_waiting(struct env *e, struct waiting *w)
{
	for (int i = 0; i < w->depth; i++)
		MPI_Irecv(w->in + queued_bytes * i, queued_bytes, MPI_BYTE, partner(e), queue_tag + i, MPI_COMM_WORLD, &w->receives[i]);
}

static void send_waiting(struct env *e, struct waiting *w)
{
	for (int i = 0; i < w->depth; i++)
		MPI_Isend(w->out, queued_bytes, MPI_BYTE, partner(e), queue_tag + i, MPI_COMM_WORLD, &w->sends[i]);
}

static void measure_queued(struct env *e, const struct queue_case *c, struct pair *p)
{
	size_t depth = (size_t)c->depth;
	struct waiting w = {c->depth, buffer_new(queued_bytes), buffer_new(queued_bytes * depth), allocate(depth * sizeof(MPI_Request)),
			    allocate(depth * sizeof(MPI_Request))};
	double *xs = samples(p->n);

	(c->posted ? post_waiting : send_waiting)(e, &w);
	for (int i = 0; i < p->warm + p->n; i++) {
		int64_t start = now_ns();

		bounce(e, p->out, p->in, p->size);
		if (i >= p->warm)
			xs[i - p->warm] = micros(start) / 2;
	}
	(c->posted ? send_waiting : post_waiting)(e, &w);
	MPI_Waitall(w.depth, w.receives, MPI_STATUSES_IGNORE);
	MPI_Waitall(w.depth, w.sends, MPI_STATUSES_IGNORE);
	report(e, 0, c->name, p->size, "half-rtt", "us", xs, p->n);
	free(xs);
	free(w.out);
	free(w.in);
	free(w.receives);
	free(w.sends);
}

void run_queued(struct env *e)
{
	static const char *const names[] = {"none", "posted-100", "posted-1000", "unexpected-100", "unexpected-1000", NULL};

	check_case(e, names);
	if (e->rank > 1)
		return;
	for (size_t c = 0; c < sizeof queue_cases / sizeof queue_cases[0]; c++)
		for (int s = 0; wants(e, queue_cases[c].name) && s < e->opt->sizes.n; s++) {
			struct pair p = pair_new(e, e->opt->sizes.at[s]);

			measure_queued(e, &queue_cases[c], &p);
			pair_free(&p);
		}
}

/* Test histogram. */

static void report_bins(struct env *e, long size, const double *ns, int n)
{
	struct bin bins[MAX_BINS];
	int found = bins_of(ns, n, bins);
	char kase[32];

	snprintf(kase, sizeof kase, "%ld", size);
	for (int i = 0; i < found; i++)
		report(e, 0, kase, (long)bins[i].low, "share", "%", &bins[i].share, 1);
}

static void measure_histogram(struct env *e, struct pair *p)
{
	double *ns = samples(p->n), *us = samples(p->n), tail;

	sync_pair(e);
	for (int i = 0; i < p->warm + p->n; i++) {
		int64_t start = now_ns();

		bounce(e, p->out, p->in, p->size);
		if (i >= p->warm)
			ns[i - p->warm] = (double)(now_ns() - start) / 2;
	}
	for (int i = 0; i < p->n; i++)
		us[i] = ns[i] / 1e3;
	tail = quantile_of(us, p->n, 999, 1000);
	report(e, 0, "", p->size, "half-rtt", "us", us, p->n);
	report(e, 0, "", p->size, "p999", "us", &tail, 1);
	report_bins(e, p->size, ns, p->n);
	free(ns);
	free(us);
}

void run_histogram(struct env *e)
{
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		struct pair p = pair_new(e, e->opt->sizes.at[s]);

		measure_histogram(e, &p);
		pair_free(&p);
	}
}

/* Test bsend. */

/* send_late lets rank 1 compute before it receives: the time in us that this rank's call took. */
static double send_late(struct env *e, struct pair *p, int64_t late)
{
	int64_t start;

	if (e->rank == 1)
		compute(late);
	start = now_ns();
	if (e->rank == 0)
		MPI_Bsend(p->out, p->size, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD);
	else
		MPI_Recv(p->in, p->size, MPI_BYTE, 0, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return micros(start);
}

/* acknowledge lets rank 0 wait until rank 1 has its message. */
static void acknowledge(struct env *e)
{
	char ack = 0;

	if (e->rank == 0)
		MPI_Recv(&ack, 1, MPI_BYTE, 1, ack_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(&ack, 1, MPI_BYTE, 0, ack_tag, MPI_COMM_WORLD);
}

static void measure_bsend(struct env *e, struct pair *p, int measures, const char *kase, const char *measure)
{
	const int64_t warm_late = 1000000; /* ns */
	int n = iterations(e, 10), warm = warmup(e, n);
	double *xs = samples(n);

	for (int i = 0; i < warm + n; i++) {
		int64_t late = e->opt->late;
		double took;

		sync_pair(e);
		took = send_late(e, p, i < warm && late > warm_late ? warm_late : late);
		if (measures == 0)
			acknowledge(e);
		if (i >= warm)
			xs[i - warm] = took;
	}
	report(e, measures, kase, p->size, measure, "us", xs, n);
	free(xs);
}

void run_bsend(struct env *e)
{
	static const char *const names[] = {"late-receiver", "arrived", NULL};
	enum { room = 4 }; /* messages: the memory of one may be free a little later than its receiver has it */

	check_case(e, names);
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		struct pair p = pair_new(e, e->opt->sizes.at[s]);
		int bytes = room * (p.size + MPI_BSEND_OVERHEAD);
		void *buffer = allocate((size_t)bytes);

		MPI_Buffer_attach(buffer, bytes);
		if (wants(e, names[0]))
			measure_bsend(e, &p, 0, names[0], "bsend");
		if (wants(e, names[1]))
			measure_bsend(e, &p, 1, names[1], "recv");
		MPI_Buffer_detach(&buffer, &bytes);
		free(buffer);
		pair_free(&p);
	}
}
