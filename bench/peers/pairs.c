/* Tests of two ranks that exchange messages and do nothing else. */
#include "mpibench.h"

#include <stdlib.h>

int partner(const struct env *e)
{
	return e->rank ^ 1;
}

void bounce(struct env *e, unsigned char *out, unsigned char *in, int size)
{
	int peer = partner(e), source = e->opt->any ? MPI_ANY_SOURCE : peer, tag = e->opt->any ? MPI_ANY_TAG : data_tag;

	if (e->rank < peer)
		MPI_Send(out, size, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD);
	MPI_Recv(in, size, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (e->rank > peer)
		MPI_Send(out, size, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD);
}

void cross(struct env *e, unsigned char *out, unsigned char *in, int size)
{
	MPI_Request r;

	MPI_Isend(out, size, MPI_BYTE, partner(e), data_tag, MPI_COMM_WORLD, &r);
	MPI_Recv(in, size, MPI_BYTE, partner(e), data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

typedef void exchange(struct env *e, unsigned char *out, unsigned char *in, int size);

/* time_exchanges repeats f and reports its time, divided by parts, at rank 0. */
static void time_exchanges(struct env *e, exchange *f, const char *measure, double parts)
{
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		long size = e->opt->sizes.at[s];
		int n = iterations(e, repetitions(size)), w = warmup(e, n);
		unsigned char *out = buffer_new((size_t)size), *in = buffer_new((size_t)size);
		double *xs = samples(n);

		sync_pair(e);
		for (int i = 0; i < w + n; i++) {
			int64_t start = now_ns();

			f(e, out, in, (int)size);
			if (i >= w)
				xs[i - w] = micros(start) / parts;
		}
		report(e, 0, f == bounce && e->opt->any ? "any" : "", size, measure, "us", xs, n);
		free(out);
		free(in);
		free(xs);
	}
}

void run_pingpong(struct env *e)
{
	time_exchanges(e, bounce, "half-rtt", 2);
}

void run_pingping(struct env *e)
{
	time_exchanges(e, cross, "exchange", 1);
}

double half_rtt(struct env *e, unsigned char *out, unsigned char *in, long size, int n)
{
	double *xs = samples(n), half;

	sync_pair(e);
	for (int i = 0; i < n; i++) {
		int64_t start = now_ns();

		bounce(e, out, in, (int)size);
		xs[i] = micros(start) / 2;
	}
	half = summarise(xs, n, 0).sextile1;
	free(xs);
	if (e->rank == 0)
		MPI_Send(&half, 1, MPI_DOUBLE, 1, 0, e->control);
	else
		MPI_Recv(&half, 1, MPI_DOUBLE, 0, 0, e->control, MPI_STATUS_IGNORE);
	return half;
}

/* window is a number of messages on their way at once, of one size and in one buffer at each side. */
struct window {
	int n, size;
	unsigned char *out, *in;
	MPI_Request *requests; /* 2n */
};

static int window_size(const struct env *e, long size)
{
	if (e->opt->window > 0)
		return e->opt->window;
	return size >= MIB ? 16 : 64;
}

static void post_receives(struct window *w, int peer, MPI_Request *r)
{
	for (int i = 0; i < w->n; i++)
		MPI_Irecv(w->in, w->size, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD, &r[i]);
}

static void post_sends(struct window *w, int peer, MPI_Request *r)
{
	for (int i = 0; i < w->n; i++)
		MPI_Isend(w->out, w->size, MPI_BYTE, peer, data_tag, MPI_COMM_WORLD, &r[i]);
}

/* one_way moves a window from rank 0 to rank 1, which acknowledges it with one byte. */
static void one_way(struct env *e, struct window *w)
{
	char b = 0;

	if (e->rank == 0) {
		post_sends(w, 1, w->requests);
		MPI_Waitall(w->n, w->requests, MPI_STATUSES_IGNORE);
		MPI_Recv(&b, 1, MPI_BYTE, 1, ack_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	post_receives(w, 0, w->requests);
	MPI_Waitall(w->n, w->requests, MPI_STATUSES_IGNORE);
	MPI_Send(&b, 1, MPI_BYTE, 0, ack_tag, MPI_COMM_WORLD);
}

/* both_ways moves a window in each direction at once, and then a byte in each. */
static void both_ways(struct env *e, struct window *w)
{
	int peer = 1 - e->rank;
	char out = 0, in;

	post_receives(w, peer, w->requests);
	post_sends(w, peer, w->requests + w->n);
	MPI_Waitall(2 * w->n, w->requests, MPI_STATUSES_IGNORE);
	MPI_Sendrecv(&out, 1, MPI_BYTE, peer, ack_tag, &in, 1, MPI_BYTE, peer, ack_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* time_windows repeats f, as often as one message is repeated divided by share, and reports what of per_window(w) it did in a second, or a
   microsecond for MB/s. */
static void time_windows(struct env *e, int share, void (*f)(struct env *, struct window *), double (*per_window)(struct window *),
			 const char *measure, const char *unit)
{
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		long size = e->opt->sizes.at[s];
		int n = iterations(e, at_least(20, repetitions(size) / share)), warm = warmup(e, n);
		struct window w = {.n = window_size(e, size), .size = (int)size};
		double *xs = samples(n);

		w.out = buffer_new((size_t)size);
		w.in = buffer_new((size_t)size);
		w.requests = allocate(2 * (size_t)w.n * sizeof(MPI_Request));
		sync_pair(e);
		for (int i = 0; i < warm + n; i++) {
			int64_t start = now_ns();

			f(e, &w);
			if (i >= warm)
				xs[i - warm] = per_window(&w) / micros(start);
		}
		report(e, 0, "", size, measure, unit, xs, n);
		free(w.out);
		free(w.in);
		free(w.requests);
		free(xs);
	}
}

/* Bytes a microsecond are MB/s. */
static double bytes_one_way(struct window *w)
{
	return (double)w->n * w->size;
}

static double bytes_both_ways(struct window *w)
{
	return 2 * bytes_one_way(w);
}

static double messages(struct window *w)
{
	return w->n * 1e6;
}

void run_bw(struct env *e)
{
	time_windows(e, 20, one_way, bytes_one_way, "bandwidth", "MB/s");
}

void run_bibw(struct env *e)
{
	time_windows(e, 20, both_ways, bytes_both_ways, "bandwidth", "MB/s");
}

void run_rate(struct env *e)
{
	time_windows(e, 1, one_way, messages, "rate", "1/s");
}
