/* A sparse linear system by conjugate gradients: examples/cg, on a grid. */
#include "sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* system is A x = b, and the vectors of the method; n is the elements of each that this rank has. */
struct system {
	struct sparse a;
	int n;
	double *b, *x, *r, *p, *q;
	double norm_b;
	int iterations;
};

enum { limit = 10000 };
static const double wanted = 1e-8; /* |b - A x| / |b| */

/* solution is element i of the solution that the right-hand side is made for. */
static double solution(int i)
{
	return 1 + (double)(i % 10) / 10;
}

static void right_hand_side(const struct csr *rows, double *b)
{
	for (int r = 0; r < rows->rows; r++)
		for (int k = rows->ptr[r]; k < rows->ptr[r + 1]; k++)
			b[r] += rows->val[k] * solution(rows->col[k]);
}

/* sum adds up a number of all ranks. */
static double sum(struct job *j, double x)
{
	int64_t began = now_ns();

	MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	j->waited += now_ns() - began;
	return x;
}

static double dot(struct job *j, const double *x, const double *y, int n)
{
	double mine = 0;

	for (int i = 0; i < n; i++)
		mine += x[i] * y[i];
	return sum(j, mine);
}

/* restart computes the residual r = b - A x afresh, and gives |r| / |b|. */
static double restart(struct system *s, struct job *j, enum way way)
{
	multiply(&s->a, j, way, s->r, s->x);
	for (int i = 0; i < s->n; i++)
		s->r[i] = s->b[i] - s->r[i];
	return sqrt(dot(j, s->r, s->r, s->n)) / s->norm_b;
}

/* iterate_once is one iteration; rr is r·r before and after. */
static double iterate_once(struct system *s, struct job *j, enum way way, double rr)
{
	double alpha, beta, next;

	multiply(&s->a, j, way, s->q, s->p);
	alpha = rr / dot(j, s->p, s->q, s->n);
	for (int i = 0; i < s->n; i++) {
		s->x[i] += alpha * s->p[i];
		s->r[i] -= alpha * s->q[i];
	}
	next = dot(j, s->r, s->r, s->n);
	beta = next / rr;
	for (int i = 0; i < s->n; i++)
		s->p[i] = s->r[i] + beta * s->p[i];
	return next;
}

static void iterate(struct system *s, struct job *j, enum way way)
{
	double rr;

	memcpy(s->p, s->r, (size_t)s->n * sizeof(double));
	rr = dot(j, s->r, s->r, s->n);
	for (; sqrt(rr) > wanted * s->norm_b; s->iterations++) {
		if (s->iterations == limit)
			die("no solution after %d iterations", limit);
		rr = iterate_once(s, j, way, rr);
	}
}

static void solve(struct system *s, struct job *j, enum way way)
{
	double last = INFINITY, residual;

	memset(s->x, 0, (size_t)s->n * sizeof(double));
	s->iterations = 0;
	s->norm_b = sqrt(dot(j, s->b, s->b, s->n));
	while ((residual = restart(s, j, way)) > wanted) {
		if (!(residual < last / 2))
			die("the residual stays at %.2g", residual);
		last = residual;
		iterate(s, j, way);
	}
}

/* weigh is the sum of all elements of x, each times the weight of its place. */
static double weigh(struct system *s, struct job *j)
{
	double mine = 0;

	for (int i = 0; i < s->n; i++)
		mine += s->x[i] * weight((uint64_t)(s->a.first + i));
	return sum(j, mine);
}

static int grid_of(const struct job *j)
{
	int grid = number(j, "grid");

	if (grid > 512)
		die("-grid %d: choose 1 to 512", grid);
	return grid;
}

static void run(struct job *j)
{
	int grid = grid_of(j), size = grid * grid * grid;
	int first = first_of(j->rank, j->ranks, size), end = first_of(j->rank + 1, j->ranks, size);
	struct system s = {.n = end - first};
	double *all = room(5 * (size_t)s.n, sizeof(double));
	struct csr rows;

	s.b = all;
	s.x = s.b + s.n;
	s.r = s.x + s.n;
	s.p = s.r + s.n;
	s.q = s.p + s.n;
	rows = poisson(grid, first, end);
	right_hand_side(&rows, s.b);
	s.a = distribute(j, rows, first, size);
	for (int i = 0; i < j->times * n_ways; i++) {
		start_clock(j);
		solve(&s, j, i % n_ways);
		stop_clock(j);
		int64_t waited = j->waited;
		double value = weigh(&s, j);
		j->waited = waited; /* weigh is not timed */
		print_time(j, grid, i % n_ways, (uint64_t)s.iterations, value);
	}
	free_sparse(&s.a);
	free(all);
}

struct app cg = {"cg", "a sparse linear system, by conjugate gradients", {{"grid", "48"}}, run};
