#include "sparse.h"

#include <stdlib.h>
#include <string.h>

static struct csr new_csr(int rows, int entries)
{
	struct csr a = {.ptr = room((size_t)rows + 1, sizeof(int)), .col = room((size_t)entries, sizeof(int)),
			.val = room((size_t)entries, sizeof(double))};
	return a;
}

void free_csr(struct csr *a)
{
	free(a->ptr);
	free(a->col);
	free(a->val);
}

/* add adds an entry to the row that begin_row has begun. */
static void add(struct csr *a, int col, double val)
{
	int k = a->ptr[a->rows + 1]++;

	a->col[k] = col;
	a->val[k] = val;
}

static void begin_row(struct csr *a)
{
	a->ptr[a->rows + 1] = a->ptr[a->rows];
}

struct csr poisson(int n, int first, int end)
{
	struct csr a = new_csr(end - first, 7 * (end - first));

	for (int i = first; i < end; i++, a.rows++) {
		int x = i % n, y = i / n % n, z = i / n / n;

		begin_row(&a);
		if (z > 0)
			add(&a, i - n * n, -1);
		if (y > 0)
			add(&a, i - n, -1);
		if (x > 0)
			add(&a, i - 1, -1);
		add(&a, i, 6);
		if (x < n - 1)
			add(&a, i + 1, -1);
		if (y < n - 1)
			add(&a, i + n, -1);
		if (z < n - 1)
			add(&a, i + n * n, -1);
	}
	return a;
}

static int ascending(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* needed lists the columns of rows that are not the rank's own, ascending, each once. */
static int *needed(const struct csr *rows, int first, int *n)
{
	int entries = rows->ptr[rows->rows], all = 0;
	int *need = room((size_t)entries, sizeof(int));

	for (int k = 0; k < entries; k++)
		if (rows->col[k] < first || rows->col[k] >= first + rows->rows)
			need[all++] = rows->col[k];
	qsort(need, (size_t)all, sizeof(int), ascending);
	*n = 0;
	for (int k = 0; k < all; k++)
		if (k == 0 || need[k] != need[k - 1])
			need[(*n)++] = need[k];
	return need;
}

/* cut divides rows into own and far. */
static void cut(struct sparse *a, const struct csr *rows, const int *need)
{
	int entries = rows->ptr[rows->rows];

	a->own = new_csr(rows->rows, entries);
	a->far = new_csr(rows->rows, entries);
	for (int r = 0; r < rows->rows; r++, a->own.rows++, a->far.rows++) {
		begin_row(&a->own);
		begin_row(&a->far);
		for (int k = rows->ptr[r]; k < rows->ptr[r + 1]; k++) {
			int col = rows->col[k] - a->first;

			if (col >= 0 && col < rows->rows) {
				add(&a->own, col, rows->val[k]);
				continue;
			}
			const int *at = bsearch(&rows->col[k], need, (size_t)a->n_ghosts, sizeof(int), ascending);
			add(&a->far, (int)(at - need), rows->val[k]);
		}
	}
}

static int owner_of(int i, int ranks, int size)
{
	int r = (int)((int64_t)i * ranks / size); /* never too high */

	while (first_of(r + 1, ranks, size) <= i)
		r++;
	return r;
}

/* places sums up counts; the result is how many there are in all. */
static int places(const int *counts, int *displacements, int n)
{
	int sum = 0;

	for (int r = 0; r < n; r++) {
		displacements[r] = sum;
		sum += counts[r];
	}
	return sum;
}

/* connect makes the requests of every product. */
static void connect(struct sparse *a, const struct job *j, const int *get, const int *give)
{
	double *ghosts, *picked;

	a->ghosts = ghosts = room((size_t)a->n_ghosts, sizeof(double));
	a->picked = picked = room((size_t)a->n_picked, sizeof(double));
	a->requests = room(2 * (size_t)j->ranks, sizeof(MPI_Request));
	for (int r = 0; r < j->ranks; r++) {
		if (get[r] > 0)
			MPI_Recv_init(ghosts, get[r], MPI_DOUBLE, r, 1, MPI_COMM_WORLD, &a->requests[a->n_requests++]);
		if (give[r] > 0)
			MPI_Send_init(picked, give[r], MPI_DOUBLE, r, 1, MPI_COMM_WORLD, &a->requests[a->n_requests++]);
		ghosts += get[r];
		picked += give[r];
	}
}

struct sparse distribute(const struct job *j, struct csr rows, int first, int size)
{
	struct sparse a = {.size = size, .first = first};
	int *counts = room(4 * (size_t)j->ranks, sizeof(int));
	int *get = counts, *give = get + j->ranks, *get_at = give + j->ranks, *give_at = get_at + j->ranks;
	int *need = needed(&rows, first, &a.n_ghosts);

	for (int i = 0; i < a.n_ghosts; i++)
		get[owner_of(need[i], j->ranks, size)]++;
	MPI_Alltoall(get, 1, MPI_INT, give, 1, MPI_INT, MPI_COMM_WORLD);
	places(get, get_at, j->ranks);
	a.n_picked = places(give, give_at, j->ranks);
	a.pick = room((size_t)a.n_picked, sizeof(int));
	MPI_Alltoallv(need, get, get_at, MPI_INT, a.pick, give, give_at, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < a.n_picked; i++)
		a.pick[i] -= first;
	cut(&a, &rows, need);
	connect(&a, j, get, give);
	free(need);
	free(counts);
	free_csr(&rows);
	return a;
}

/* multiply_add adds A x to y. */
static void multiply_add(const struct csr *a, double *y, const double *x)
{
	for (int r = 0; r < a->rows; r++) {
		double sum = y[r];

		for (int k = a->ptr[r]; k < a->ptr[r + 1]; k++)
			sum += a->val[k] * x[a->col[k]];
		y[r] = sum;
	}
}

void multiply(struct sparse *a, struct job *j, enum way way, double *y, const double *p)
{
	for (int i = 0; i < a->n_picked; i++)
		a->picked[i] = p[a->pick[i]];
	MPI_Startall(a->n_requests, a->requests);
	if (way == blocking)
		await(j, a->n_requests, a->requests);
	memset(y, 0, (size_t)a->own.rows * sizeof(double));
	multiply_add(&a->own, y, p);
	await(j, a->n_requests, a->requests); /* again: then there is nothing to wait for */
	multiply_add(&a->far, y, a->ghosts);
}

void free_sparse(struct sparse *a)
{
	for (int i = 0; i < a->n_requests; i++)
		MPI_Request_free(&a->requests[i]);
	free(a->requests);
	free(a->ghosts);
	free(a->picked);
	free(a->pick);
	free_csr(&a->own);
	free_csr(&a->far);
}
