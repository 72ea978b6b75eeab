/* Test match: what a message costs when many wait unexpected, or many receives are posted. */
#include "mpibench.h"

#include <stdlib.h>

enum { message = 8 }; /* bytes */

/* queue is depth messages with the tags 0 to depth-1, and one more tag after them. */
struct queue {
	int depth;
	int reverse; /* whether tags are taken from the last to the first, at the side that does not fill the queue */
	unsigned char *out, *in;
	MPI_Request *requests; /* depth, and one more */
};

static int tag_at(const struct queue *q, int i)
{
	return q->reverse ? q->depth - 1 - i : i;
}

/* unexpected lets the messages arrive before they are received; rank 1 gets the nanoseconds of each receive. */
static double unexpected(struct env *e, struct queue *q)
{
	double took = 0;

	if (e->rank == 0) {
		for (int i = 0; i <= q->depth; i++)
			MPI_Isend(q->out, message, MPI_BYTE, 1, i, MPI_COMM_WORLD, &q->requests[i]);
		MPI_Waitall(q->depth + 1, q->requests, MPI_STATUSES_IGNORE);
	} else {
		int64_t start;

		MPI_Recv(q->in, message, MPI_BYTE, 0, q->depth, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		start = now_ns();
		for (int i = 0; i < q->depth; i++)
			MPI_Recv(q->in, message, MPI_BYTE, 0, tag_at(q, i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		took = micros(start) * 1e3 / q->depth;
	}
	sync_pair(e);
	return took;
}

/* posted posts the receives before the messages are sent; rank 1 gets the nanoseconds of each message. */
static double posted(struct env *e, struct queue *q)
{
	int64_t start;

	if (e->rank == 1)
		for (int i = 0; i < q->depth; i++)
			MPI_Irecv(q->in, message, MPI_BYTE, 0, i, MPI_COMM_WORLD, &q->requests[i]);
	sync_pair(e);
	start = now_ns();
	if (e->rank == 0) {
		for (int i = 0; i < q->depth; i++)
			MPI_Send(q->out, message, MPI_BYTE, 1, tag_at(q, i), MPI_COMM_WORLD);
		return 0;
	}
	MPI_Waitall(q->depth, q->requests, MPI_STATUSES_IGNORE);
	return micros(start) * 1e3 / q->depth;
}

static const struct {
	const char *name;
	double (*run)(struct env *e, struct queue *q);
	int reverse;
} cases[] = {
	{"unexpected-inorder", unexpected, 0},
	{"unexpected-reverse", unexpected, 1},
	{"posted-inorder", posted, 0},
	{"posted-reverse", posted, 1},
};

static void measure(struct env *e, int depth)
{
	int n = iterations(e, 20), w = warmup(e, n);
	struct queue q = {.depth = depth, .out = buffer_new(message), .in = buffer_new(message)};
	double *xs = samples(n);

	q.requests = allocate(((size_t)depth + 1) * sizeof(MPI_Request));
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		if (!wants(e, cases[c].name))
			continue;
		q.reverse = cases[c].reverse;
		sync_pair(e);
		for (int i = 0; i < w + n; i++) {
			double took = cases[c].run(e, &q);

			if (i >= w)
				xs[i - w] = took;
		}
		report(e, 1, cases[c].name, depth, "per-message", "ns", xs, n);
	}
	free(q.out);
	free(q.in);
	free(q.requests);
	free(xs);
}

void run_match(struct env *e)
{
	static const char *const names[] = {"unexpected-inorder", "unexpected-reverse", "posted-inorder", "posted-reverse", NULL};

	check_case(e, names);
	if (e->rank > 1)
		return;
	for (int s = 0; s < e->opt->sizes.n; s++) {
		if (e->opt->sizes.at[s] < 1)
			die("depth %ld: need 1 or more", e->opt->sizes.at[s]);
		measure(e, (int)e->opt->sizes.at[s]);
	}
}
