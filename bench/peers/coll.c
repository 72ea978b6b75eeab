/* Tests of collectives: their time, and how much of it computation hides. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

/* fill_with_ones makes doubles of b, so that sums stay ordinary numbers. */
static void fill_with_ones(unsigned char *b, size_t n)
{
	const double one = 1;

	for (size_t i = 0; i + sizeof one <= n; i += sizeof one)
		memcpy(b + i, &one, sizeof one);
}

static struct operands operands_new(struct env *e, long size)
{
	struct operands o = {.bytes = (int)size, .doubles = at_least(1, (int)(size / (long)sizeof(double)))};
	size_t ranks = (size_t)e->ranks, room;

	o.share = at_least(1, o.doubles / e->ranks);
	room = ranks * (size_t)at_least((int)sizeof(double), o.bytes);
	o.out = buffer_new(room);
	o.in = buffer_new(room);
	fill_with_ones(o.out, room);
	o.counts = allocate(ranks * sizeof(int));
	o.starts = allocate(ranks * sizeof(int));
	o.shares = allocate(ranks * sizeof(int));
	for (int r = 0; r < e->ranks; r++) {
		o.counts[r] = o.bytes;
		o.starts[r] = r * o.bytes;
		o.shares[r] = o.share;
	}
	return o;
}

static void operands_free(struct operands *o)
{
	free(o->out);
	free(o->in);
	free(o->counts);
	free(o->starts);
	free(o->shares);
}

/* time_each measures n repetitions, each after a Barrier, and returns the median of this rank's, in microseconds. */
static double time_each(struct env *e, const struct collective *c, long size, struct operands *o, int n)
{
	int w = warmup(e, n);
	double *xs = samples(n), *own = samples(n), took;

	for (int i = 0; i < w + n; i++) {
		int64_t start;

		MPI_Barrier(MPI_COMM_WORLD);
		start = now_ns();
		c->run(o);
		if (i >= w)
			xs[i - w] = micros(start);
	}
	memcpy(own, xs, (size_t)n * sizeof *own);
	took = median(own, n);
	free(own);
	report_slowest(e, c->name, size, "time", "us", xs, n);
	free(xs);
	return took;
}

/* A row lasts about ROW_MICROS, but has PER_ROW repetitions at most for each that is timed alone. */
enum { ROW_MICROS = 200000, PER_ROW = 10 };

/* time_row measures repetitions in a row; took is how long one takes at rank 0, in microseconds. */
static void time_row(struct env *e, const struct collective *c, long size, struct operands *o, double took, int n)
{
	int count = at_least(2, (int)(ROW_MICROS / (took > 1 ? took : 1)));
	double mean;
	int64_t start;

	if (count > PER_ROW * n)
		count = PER_ROW * n;
	MPI_Bcast(&count, 1, MPI_INT, 0, e->control);
	MPI_Barrier(MPI_COMM_WORLD);
	start = now_ns();
	for (int i = 0; i < count; i++)
		c->run(o);
	mean = micros(start) / count;
	report_slowest(e, c->name, size, "in-a-row", "us", &mean, 1);
}

static void measure_time(struct env *e, const struct collective *c, long size)
{
	int n = iterations(e, at_least(5, repetitions(size) / 5));
	struct operands o = operands_new(e, size);

	time_row(e, c, size, &o, time_each(e, c, size, &o, n), n);
	operands_free(&o);
}

/* with_sizes calls measure for each size of the user, or once with 0 for a collective without data. */
static void with_sizes(struct env *e, const struct collective *c,
		       void (*measure)(struct env *, const struct collective *, long))
{
	if (!c->has_size) {
		measure(e, c, 0);
		return;
	}
	for (int s = 0; s < e->opt->sizes.n; s++) {
		long size = e->opt->sizes.at[s];

		if (size * e->ranks > INT32_MAX)
			die("size %ld with %d ranks: MPI counts at most %d elements", size, e->ranks, INT32_MAX);
		measure(e, c, size);
	}
}

void run_coll(struct env *e)
{
	int found = 0;

	for (const struct collective *c = collectives; c->name != NULL; c++) {
		if (!wants(e, c->name) || (*e->opt->kase == '\0' && c->vector))
			continue;
		found = 1;
		with_sizes(e, c, measure_time);
	}
	if (!found)
		die("no collective %s", e->opt->kase);
}

/* cover starts a collective, computes, and waits for it; *computed gets the time of the work. */
static double cover(const struct collective *c, struct operands *o, int64_t work, double *computed)
{
	MPI_Request r;
	int64_t start;

	MPI_Barrier(MPI_COMM_WORLD);
	start = now_ns();
	c->start(o, &r);
	*computed = work > 0 ? timed_compute(work) : 0;
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	return micros(start);
}

/* measure_overlap computes at every rank for as long as the collective alone takes at rank 0, whose figures it reports. */
static void measure_overlap(struct env *e, const struct collective *c, long size)
{
	int n = iterations(e, 30), w = warmup(e, n);
	struct operands o = operands_new(e, size);
	double *pure = samples(n), *total = samples(n), *overlap = samples(n), computed, p;

	for (int i = 0; i < w + n; i++) {
		double took = cover(c, &o, 0, &computed);

		if (i >= w)
			pure[i - w] = took;
	}
	p = median(pure, n);
	MPI_Bcast(&p, 1, MPI_DOUBLE, 0, e->control);
	for (int i = -w; i < n; i++) {
		double took = cover(c, &o, (int64_t)(p * 1e3), &computed);

		if (i >= 0) {
			total[i] = took;
			overlap[i] = overlap_percent(took, computed, p);
		}
	}
	report(e, 0, e->opt->kase, size, "pure", "us", pure, n);
	report(e, 0, e->opt->kase, size, "total", "us", total, n);
	report(e, 0, e->opt->kase, size, "overlap", "%", overlap, n);
	operands_free(&o);
	free(pure);
	free(total);
	free(overlap);
}

void run_collective_overlap(struct env *e)
{
	const struct collective *c = collectives;

	while (c->name != NULL && (*e->opt->kase != 'i' || strcmp(e->opt->kase + 1, c->name) != 0))
		c++;
	if (c->name == NULL)
		die("no nonblocking collective %s", e->opt->kase);
	with_sizes(e, c, measure_overlap);
}
