/* A sparse matrix of which every rank has a block of rows, and products with a vector that is dealt out in the same way. */
#ifndef FITMPI_BENCH_SPARSE_H
#define FITMPI_BENCH_SPARSE_H

#include "app.h"

/* csr is rows of a matrix: row r has the entries from ptr[r] to before ptr[r + 1]. */
struct csr {
	int rows, *ptr, *col;
	double *val;
};

struct sparse {
	int size, first; /* rows of the whole matrix, and the first of this rank */
	struct csr own;  /* entries in the columns of this rank's elements; columns count from its first */
	struct csr far;  /* entries in those of others; column k is that of ghosts[k] */
	int n_ghosts, n_picked, *pick;
	double *ghosts, *picked; /* elements that others have, and copies of ours that others need */
	int n_requests;
	MPI_Request *requests;
};

/* poisson makes the rank's rows of Poisson's equation on n x n x n points: 6 on the diagonal, -1 for each neighbour. */
struct csr poisson(int n, int first, int end);

/* distribute finds out which elements each rank needs from which. It takes over rows. */
struct sparse distribute(const struct job *j, struct csr rows, int first, int size);

/* multiply computes y = A p; with overlap while the ghosts are on their way. */
void multiply(struct sparse *a, struct job *j, enum way way, double *y, const double *p);

void free_csr(struct csr *a);
void free_sparse(struct sparse *a);

#endif
