/*
 * A matrix product by a master and workers: examples/matmul. Rank 0 has A and deals it out in blocks of rows, on demand;
 * a worker receives one block and returns the product of the last while it computes.
 */
#include "app.h"

#include <stdlib.h>
#include <string.h>

enum { inner = 1200 }; /* columns of A, rows of B */
enum { ahead = 2 };    /* blocks that a worker has: one to compute, the others on their way */

/* product is what is computed: c = a b. Only the master has a and c. */
struct product {
	int rows, width, block; /* block: rows that the master hands out at a time */
	double *a, *b, *c;
};

static double *whole_numbers(uint64_t seed, size_t n)
{
	double *v = room(n, sizeof(double));

	for (size_t i = 0; i < n; i++)
		v[i] = (double)((int)(scattered(seed, i) % 17) - 8);
	return v;
}

/* multiply computes c = a b for some rows of a, four rows of b at a time. */
static void multiply(const struct product *p, double *restrict c, const double *a, int rows)
{
	int width = p->width;

	memset(c, 0, (size_t)rows * (size_t)width * sizeof(double));
	for (int r = 0; r < rows; r++, a += inner, c += width)
		for (int k = 0; k < inner; k += 4) {
			const double *b0 = p->b + (size_t)k * (size_t)width, *b1 = b0 + width, *b2 = b1 + width, *b3 = b2 + width;
			double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];

			for (int i = 0; i < width; i++)
				c[i] += a0 * b0[i] + a1 * b1[i] + a2 * b2[i] + a3 * b3[i];
		}
}

/* hand_out starts sending the next block, of which the tag is the number, or an empty one if there are no more. */
static void hand_out(const struct product *p, int worker, int *next, MPI_Request *request)
{
	int from = *next * p->block, rows = p->rows - from < p->block ? p->rows - from : p->block;

	if (rows <= 0) {
		MPI_Isend(NULL, 0, MPI_DOUBLE, worker, 0, MPI_COMM_WORLD, request);
		return;
	}
	MPI_Isend(p->a + (size_t)from * inner, rows * inner, MPI_DOUBLE, worker, *next, MPI_COMM_WORLD, request);
	++*next;
}

/* collect receives one result, whichever comes first, and gives its worker. */
static int collect(const struct product *p)
{
	MPI_Status s;
	size_t width = (size_t)p->width;

	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
	int from = s.MPI_TAG * p->block, rows = p->rows - from < p->block ? p->rows - from : p->block;
	MPI_Recv(p->c + (size_t)from * width, rows * p->width, MPI_DOUBLE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return s.MPI_SOURCE;
}

static void master(const struct product *p, int ranks)
{
	int blocks = (p->rows + p->block - 1) / p->block, next = 0, n = 0;
	MPI_Request *sends = room((size_t)(blocks + ahead * ranks), sizeof(MPI_Request));

	for (int i = 0; i < ahead; i++)
		for (int w = 1; w < ranks; w++)
			hand_out(p, w, &next, &sends[n++]);
	for (int i = 0; i < blocks; i++) {
		int w = collect(p);

		hand_out(p, w, &next, &sends[n++]);
	}
	MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
	free(sends);
}

/* slot is a block that a worker has, or will have, and its product. */
struct slot {
	double *a, *c;
	MPI_Request receive, send;
};

/* turn computes the block of a slot, starts to return it and to receive the next; it is 0 if the block was empty. */
static int turn(const struct product *p, struct slot *s)
{
	MPI_Status status;
	int n;

	MPI_Wait(&s->receive, &status);
	MPI_Wait(&s->send, MPI_STATUS_IGNORE); /* c is ours again */
	MPI_Get_count(&status, MPI_DOUBLE, &n);
	if (n == 0)
		return 0;
	multiply(p, s->c, s->a, n / inner);
	MPI_Isend(s->c, n / inner * p->width, MPI_DOUBLE, 0, status.MPI_TAG, MPI_COMM_WORLD, &s->send);
	MPI_Irecv(s->a, p->block * inner, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &s->receive);
	return 1;
}

static void worker(const struct product *p)
{
	struct slot slots[ahead];
	size_t rows = (size_t)p->block;

	for (int i = 0; i < ahead; i++) {
		slots[i] = (struct slot){room(rows * inner, sizeof(double)), room(rows * (size_t)p->width, sizeof(double)),
					 MPI_REQUEST_NULL, MPI_REQUEST_NULL};
		MPI_Irecv(slots[i].a, p->block * inner, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &slots[i].receive);
	}
	for (int open = ahead, i = 0; open > 0; i = (i + 1) % ahead)
		open -= !turn(p, &slots[i]);
	for (int i = 0; i < ahead; i++) {
		free(slots[i].a);
		free(slots[i].c);
	}
}

/* measure computes the product once. */
static void measure(struct product *p, struct job *j)
{
	uint64_t hash = 0;
	size_t elements = (size_t)p->rows * (size_t)p->width;

	if (j->rank == 0)
		memset(p->c, 0, elements * sizeof(double));
	else
		p->b = room((size_t)inner * (size_t)p->width, sizeof(double));
	start_clock(j);
	MPI_Bcast(p->b, inner * p->width, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (j->ranks == 1)
		multiply(p, p->c, p->a, p->rows);
	else if (j->rank == 0)
		master(p, j->ranks);
	else
		worker(p);
	stop_clock(j);
	if (j->rank == 0)
		hash_doubles(&hash, p->c, (long)elements);
	else
		free(p->b);
	print_time(j, p->rows, overlap, hash, 0);
}

/* repeat measures a product as often as the user says. */
static void repeat(struct job *j, int rows)
{
	struct product p = {.rows = rows, .width = number(j, "width"), .block = number(j, "block")};

	if (j->rank == 0) {
		p.a = whole_numbers(0, (size_t)rows * inner);
		p.b = whole_numbers(1, (size_t)inner * (size_t)p.width);
		p.c = room((size_t)rows * (size_t)p.width, sizeof(double));
	}
	for (int i = 0; i < j->times; i++)
		measure(&p, j);
	if (j->rank == 0) {
		free(p.a);
		free(p.b);
		free(p.c);
	}
}

static void run(struct job *j)
{
	struct sizes rows = parse_sizes(text(j, "rows"));

	for (int i = 0; i < rows.n; i++) {
		if (rows.at[i] < 1 || rows.at[i] > 1 << 20)
			die("-rows %ld: choose 1 to %d", rows.at[i], 1 << 20);
		repeat(j, (int)rows.at[i]);
	}
}

struct app matmul = {
	"matmul",
	"a matrix product, by a master and workers",
	{{"rows", "2400"}, {"block", "40"}, {"width", "500"}},
	run,
};
