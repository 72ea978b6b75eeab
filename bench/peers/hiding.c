/* Tests of what communication costs a rank that computes, and of how late ranks are waited for. */
#include "mpibench.h"

#include <stdlib.h>
#include <string.h>

/* message is what a repetition sends: rank 0's out to rank 1's in. */
struct message {
	int size;
	unsigned char *out, *in;
};

static struct message message_new(long size)
{
	struct message m = {(int)size, buffer_new((size_t)size), buffer_new((size_t)size)};

	return m;
}

static void message_free(struct message *m)
{
	free(m->out);
	free(m->in);
}

static void post_send(struct env *e, struct message *m, MPI_Request *r)
{
	MPI_Isend(m->out, m->size, MPI_BYTE, 1 - e->rank, data_tag, MPI_COMM_WORLD, r);
}

static void post_receive(struct env *e, struct message *m, MPI_Request *r)
{
	MPI_Irecv(m->in, m->size, MPI_BYTE, 1 - e->rank, data_tag, MPI_COMM_WORLD, r);
}

static double timed_send(struct message *m)
{
	int64_t start = now_ns();

	MPI_Send(m->out, m->size, MPI_BYTE, 1, data_tag, MPI_COMM_WORLD);
	return micros(start);
}

static double timed_receive(struct message *m)
{
	int64_t start = now_ns();

	MPI_Recv(m->in, m->size, MPI_BYTE, 0, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return micros(start);
}

static double timed_wait(MPI_Request *r)
{
	int64_t start = now_ns();

	MPI_Wait(r, MPI_STATUS_IGNORE);
	return micros(start);
}

/*
 * The cases of test send. Each is one repetition, in which the late rank is late by so many nanoseconds; the rank that
 * measures returns the time in us, the other something.
 */

static double late_receiver(struct env *e, struct message *m, int64_t late)
{
	char ack = 0;
	double took;

	if (e->rank == 0) {
		took = timed_send(m);
		MPI_Recv(&ack, 1, MPI_BYTE, 1, ack_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return took;
	}
	compute(late);
	took = timed_receive(m);
	MPI_Send(&ack, 1, MPI_BYTE, 0, ack_tag, MPI_COMM_WORLD);
	return took;
}

static double late_sender(struct env *e, struct message *m, int64_t late)
{
	if (e->rank == 1)
		return timed_receive(m);
	compute(late);
	return timed_send(m);
}

static double arrived(struct env *e, struct message *m, int64_t late)
{
	if (e->rank == 0)
		return timed_send(m);
	compute(late);
	return timed_receive(m);
}

static double isend(struct env *e, struct message *m, int64_t work)
{
	MPI_Request r;

	if (e->rank == 1)
		return timed_receive(m);
	post_send(e, m, &r);
	if (work > 0)
		compute(work);
	return timed_wait(&r);
}

static double sender_computes(struct env *e, struct message *m, int64_t late)
{
	return isend(e, m, late);
}

static double undisturbed(struct env *e, struct message *m, int64_t late)
{
	(void)late;
	return isend(e, m, 0);
}

static const struct {
	const char *name;
	double (*run)(struct env *e, struct message *m, int64_t late);
	int measures; /* rank */
	const char *measure;
} send_cases[] = {
	{"late-receiver", late_receiver, 0, "send"},
	{"late-sender", late_sender, 1, "recv"},
	{"arrived", arrived, 1, "recv"},
	{"sender-computes", sender_computes, 1, "recv"},
	{"undisturbed", undisturbed, 1, "recv"},
};

/* Repetitions that are not measured touch the library's buffers; they need not last. */
static const int64_t warm_late = 1000000; /* ns */

static void measure_send(struct env *e, struct message *m, size_t c)
{
	int n = iterations(e, 10), w = warmup(e, n);
	int64_t late = e->opt->late, early = late < warm_late ? late : warm_late;
	double *xs = samples(n);

	for (int i = 0; i < w + n; i++) {
		double took;

		sync_pair(e);
		took = send_cases[c].run(e, m, i < w ? early : late);
		if (i >= w)
			xs[i - w] = took;
	}
	report(e, send_cases[c].measures, send_cases[c].name, m->size, send_cases[c].measure, "us", xs, n);
	free(xs);
}

void run_send(struct env *e)
{
	static const char *const names[] = {"late-receiver", "late-sender", "arrived", "sender-computes", "undisturbed", NULL};

	check_case(e, names);
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		struct message m = message_new(e->opt->sizes.at[s]);

		for (size_t c = 0; c < sizeof send_cases / sizeof send_cases[0]; c++)
			if (wants(e, send_cases[c].name))
				measure_send(e, &m, c);
		message_free(&m);
	}
}

/* hidden is what a rank of test isend-wait measures. */
struct hidden {
	double *post, *wait, *kept;
};

/* hide posts a message or its receive, computes for work ns, and waits: measurement number i. */
static void hide(struct env *e, struct message *m, int64_t work, struct hidden *h, int i)
{
	MPI_Request r;
	int64_t start;

	sync_pair(e);
	start = now_ns();
	if (e->rank == 0)
		post_send(e, m, &r);
	else
		post_receive(e, m, &r);
	h->post[i] = micros(start);
	h->kept[i] = 100 * ((double)work / 1e3) / timed_compute(work);
	h->wait[i] = timed_wait(&r);
}

static void report_hidden(struct env *e, int from, const char *const measures[3], long size, struct hidden *h, int n)
{
	report(e, from, "", size, measures[0], "us", h->post, n);
	report(e, from, "", size, measures[1], "us", h->wait, n);
	report(e, from, "", size, measures[2], "%", h->kept, n);
}

void run_isend_wait(struct env *e)
{
	static const char *const sender[] = {"isend", "wait-send", "kept-send"};
	static const char *const receiver[] = {"irecv", "wait-recv", "kept-recv"};
	int n = iterations(e, 20);
	struct hidden h;

	if (e->rank > 1)
		return;
	h = (struct hidden){samples(n), samples(n), samples(n)};
	for (int s = 0; s < e->opt->sizes.n; s++) {
		struct message m = message_new(e->opt->sizes.at[s]);
		double half = half_rtt(e, m.out, m.in, m.size, 10);
		int64_t work = (int64_t)(2 * half * 1e3);

		if (work < 2000000)
			work = 2000000;
		for (int i = -warmup(e, n); i < n; i++)
			hide(e, &m, work, &h, i > 0 ? i : 0); /* 0 is overwritten by the first that counts */
		report_hidden(e, 0, sender, m.size, &h, n);
		report_hidden(e, 1, receiver, m.size, &h, n);
		message_free(&m);
	}
	free(h.post);
	free(h.wait);
	free(h.kept);
}

/* exchange sends and receives a message at both ranks, with work between the posts and the end; *computed gets its time. */
static double exchange(struct env *e, struct message *m, int64_t work, double *computed)
{
	MPI_Request r[2];
	int64_t start;

	sync_pair(e);
	start = now_ns();
	post_receive(e, m, &r[0]);
	post_send(e, m, &r[1]);
	*computed = work > 0 ? timed_compute(work) : 0;
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	return micros(start);
}

static void measure_exchange(struct env *e, long size)
{
	int n = iterations(e, 30), w = warmup(e, n);
	struct message m = message_new(size);
	double *pure = samples(n), *total = samples(n), *overlap = samples(n), computed, p;

	for (int i = 0; i < w + n; i++) {
		double took = exchange(e, &m, 0, &computed);

		if (i >= w)
			pure[i - w] = took;
	}
	p = median(pure, n);
	if (e->rank == 0)
		MPI_Send(&p, 1, MPI_DOUBLE, 1, 0, e->control);
	else
		MPI_Recv(&p, 1, MPI_DOUBLE, 0, 0, e->control, MPI_STATUS_IGNORE);
	for (int i = -w; i < n; i++) {
		double took = exchange(e, &m, (int64_t)(p * 1e3), &computed);

		if (i >= 0) {
			total[i] = took;
			overlap[i] = overlap_percent(took, computed, p);
		}
	}
	report(e, 0, "exchange", size, "pure", "us", pure, n);
	report(e, 0, "exchange", size, "total", "us", total, n);
	report(e, 0, "exchange", size, "overlap", "%", overlap, n);
	message_free(&m);
	free(pure);
	free(total);
	free(overlap);
}

double overlap_percent(double total, double computed, double pure)
{
	double percent = 100 * (1 - (total - computed) / pure);

	if (percent < 0)
		return 0;
	return percent > 100 ? 100 : percent;
}

void run_overlap(struct env *e)
{
	if (*e->opt->kase != '\0' && strcmp(e->opt->kase, "exchange") != 0) {
		run_collective_overlap(e);
		return;
	}
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++)
		measure_exchange(e, e->opt->sizes.at[s]);
}
