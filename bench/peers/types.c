/* Test types: Allreduce by type of element and by operation. */
#include "mpibench.h"

#include <stddef.h>
#include <stdlib.h>

/* cell is an element of 8 bytes that is no number. */
struct cell {
	float charge;
	int index;
};

static void sum_words(void *in, void *acc, int *n, MPI_Datatype *type)
{
	const double *x = in;
	double *y = acc;

	(void)type;
	for (int i = 0; i < *n; i++)
		y[i] += x[i];
}

static void sum_cells(void *in, void *acc, int *n, MPI_Datatype *type)
{
	const struct cell *x = in;
	struct cell *y = acc;

	(void)type;
	for (int i = 0; i < *n; i++) {
		y[i].charge += x[i].charge;
		if (x[i].index > y[i].index)
			y[i].index = x[i].index;
	}
}

static MPI_Datatype cell_type(void)
{
	const int lengths[] = {1, 1};
	const MPI_Aint at[] = {offsetof(struct cell, charge), offsetof(struct cell, index)};
	const MPI_Datatype of[] = {MPI_FLOAT, MPI_INT};
	MPI_Datatype t;

	MPI_Type_create_struct(2, lengths, at, of, &t);
	MPI_Type_commit(&t);
	return t;
}

static void fill_words(void *b, int n)
{
	double *x = b;

	for (int i = 0; i < n; i++)
		x[i] = 1 + (double)i / 3;
}

static void fill_cells(void *b, int n)
{
	struct cell *x = b;

	for (int i = 0; i < n; i++)
		x[i] = (struct cell){1, i};
}

/* kind is a case: elements of 8 bytes, their type, and an operation. */
struct kind {
	const char *name;
	void (*fill)(void *b, int n);
	MPI_Datatype type;
	MPI_Op op;
};

static void measure_kind(struct env *e, const struct kind *k, long size)
{
	int n = iterations(e, at_least(5, repetitions(size) / 5)), warm = warmup(e, n), count = (int)(size / 8);
	unsigned char *out = buffer_new((size_t)size), *in = buffer_new((size_t)size);
	double *xs = samples(n);

	k->fill(out, count);
	for (int i = 0; i < warm + n; i++) {
		int64_t start;

		MPI_Barrier(MPI_COMM_WORLD);
		start = now_ns();
		MPI_Allreduce(out, in, count, k->type, k->op, MPI_COMM_WORLD);
		if (i >= warm)
			xs[i - warm] = micros(start);
	}
	report_slowest(e, k->name, size, "time", "us", xs, n);
	free(out);
	free(in);
	free(xs);
}

void run_types(struct env *e)
{
	static const char *const names[] = {"float64-sum", "float64-user", "struct-user", NULL};
	MPI_Datatype cells = cell_type();
	MPI_Op words_op, cells_op;

	check_case(e, names);
	MPI_Op_create(sum_words, 1, &words_op);
	MPI_Op_create(sum_cells, 1, &cells_op);
	{
		const struct kind kinds[] = {
			{names[0], fill_words, MPI_DOUBLE, MPI_SUM},
			{names[1], fill_words, MPI_DOUBLE, words_op},
			{names[2], fill_cells, cells, cells_op},
		};

		for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
			for (int s = 0; wants(e, kinds[k].name) && s < e->opt->sizes.n; s++) {
				if (e->opt->sizes.at[s] % 8 != 0)
					die("size %ld: give multiples of 8", e->opt->sizes.at[s]);
				measure_kind(e, &kinds[k], e->opt->sizes.at[s]);
			}
	}
	MPI_Op_free(&words_op);
	MPI_Op_free(&cells_op);
	MPI_Type_free(&cells);
}
