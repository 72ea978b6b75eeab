/* A Fourier transform in three dimensions, forth and back: examples/fft3d. Ranks have slabs, which MPI_Alltoallw turns. */
#include "app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct point {
	double re, im;
};

/*
 * cube is a cube of n x n x n points [x][y][z] of which each rank has a slab: mine planes x from first on before it is
 * turned, as many planes y after.
 */
struct cube {
	int n, first, mine;
	struct point *roots, *some; /* exp(-2 pi i k / n); columns that are transformed at a time */
	MPI_Datatype *by_x, *by_y;  /* what belongs to each rank after the turn */
	int *counts, *places;       /* 1 and 0 for each rank that has something */
};

enum { together = 8 };

static struct point times(struct point a, struct point b)
{
	struct point c = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};

	return c;
}

/* transform_line is the algorithm of Cooley and Tukey with radix 2, in place. */
static void transform_line(const struct cube *c, struct point *x)
{
	int n = c->n;

	for (int i = 0, j = 0; i < n; i++) {
		if (i < j) {
			struct point t = x[i];
			x[i] = x[j];
			x[j] = t;
		}
		int bit = n >> 1; /* j is i with its bits reversed */
		for (; bit > 0 && (j & bit) != 0; bit >>= 1)
			j ^= bit;
		j |= bit;
	}
	for (int half = 1; half < n; half *= 2) {
		int stride = n / (2 * half);

		for (int start = 0; start < n; start += 2 * half)
			for (int k = 0; k < half; k++) {
				struct point even = x[start + k], odd = times(x[start + k + half], c->roots[k * stride]);

				x[start + k] = (struct point){even.re + odd.re, even.im + odd.im};
				x[start + k + half] = (struct point){even.re - odd.re, even.im - odd.im};
			}
	}
}

/* transform_columns transforms each column of a matrix of n rows of width points. */
static void transform_columns(const struct cube *c, struct point *m, int width)
{
	for (int col = 0; col < width; col += together) {
		int k = width - col < together ? width - col : together;

		for (int i = 0; i < c->n; i++)
			for (int j = 0; j < k; j++)
				c->some[j * c->n + i] = m[(size_t)i * (size_t)width + (size_t)(col + j)];
		for (int j = 0; j < k; j++)
			transform_line(c, c->some + j * c->n);
		for (int i = 0; i < c->n; i++)
			for (int j = 0; j < k; j++)
				m[(size_t)i * (size_t)width + (size_t)(col + j)] = c->some[j * c->n + i];
	}
}

/* transform_planes transforms a slab by x along z and y. */
static void transform_planes(const struct cube *c, struct point *s)
{
	size_t plane = (size_t)c->n * (size_t)c->n;

	for (int i = 0; i < c->mine * c->n; i++)
		transform_line(c, s + (size_t)i * (size_t)c->n);
	for (int x = 0; x < c->mine; x++)
		transform_columns(c, s + (size_t)x * plane, c->n);
}

/* turn makes a slab by y of one by x, or the other way round: the types say where each rank's part is in either. */
static void turn(const struct cube *c, struct job *j, const struct point *from, MPI_Datatype *parts, struct point *to,
		 MPI_Datatype *at)
{
	int64_t began = now_ns();

	MPI_Alltoallw(from, c->counts, c->places, parts, to, c->counts, c->places, at, MPI_COMM_WORLD);
	j->waited += now_ns() - began;
}

static void conjugate(struct point *s, size_t n, double factor)
{
	for (size_t i = 0; i < n; i++) {
		s[i].re *= factor;
		s[i].im *= -factor;
	}
}

/* subarray is the part of a slab that has sizes, of part from start on. */
static MPI_Datatype subarray(int s0, int s1, int s2, int p0, int p1, int p2, int a0, int a1)
{
	MPI_Datatype t;

	MPI_Type_create_subarray(3, (int[]){s0, s1, s2}, (int[]){p0, p1, p2}, (int[]){a0, a1, 0}, MPI_ORDER_C,
				 MPI_C_DOUBLE_COMPLEX, &t);
	MPI_Type_commit(&t);
	return t;
}

static struct cube new_cube(const struct job *j, int n)
{
	static const double pi = 3.14159265358979323846;
	struct cube c = {.n = n, .first = first_of(j->rank, j->ranks, n)};
	size_t ranks = (size_t)j->ranks;

	c.mine = first_of(j->rank + 1, j->ranks, n) - c.first;
	c.roots = room((size_t)n, sizeof(struct point));
	c.some = room((size_t)n * together, sizeof(struct point));
	for (int k = 0; k < n / 2; k++)
		c.roots[k] = (struct point){cos(-2 * pi * k / n), sin(-2 * pi * k / n)};
	c.by_x = room(ranks, sizeof(MPI_Datatype));
	c.by_y = room(ranks, sizeof(MPI_Datatype));
	c.counts = room(ranks, sizeof(int));
	c.places = room(ranks, sizeof(int));
	for (int r = 0; r < j->ranks; r++) {
		int from = first_of(r, j->ranks, n), part = first_of(r + 1, j->ranks, n) - from;

		c.by_x[r] = c.by_y[r] = MPI_C_DOUBLE_COMPLEX;
		if (c.mine == 0 || part == 0)
			continue;
		c.counts[r] = 1;
		c.by_x[r] = subarray(c.mine, n, n, c.mine, part, n, 0, from);
		c.by_y[r] = subarray(n, c.mine, n, part, c.mine, n, from, 0);
	}
	return c;
}

static void free_cube(struct cube *c, const struct job *j)
{
	for (int r = 0; r < j->ranks; r++)
		if (c->counts[r] > 0) {
			MPI_Type_free(&c->by_x[r]);
			MPI_Type_free(&c->by_y[r]);
		}
	free(c->by_x);
	free(c->by_y);
	free(c->counts);
	free(c->places);
	free(c->roots);
	free(c->some);
}

/* value is the input at a point. */
static struct point value(int x, int y, int z)
{
	uint64_t h = mix((uint64_t)x << 40 | (uint64_t)y << 20 | (uint64_t)z);

	return (struct point){(double)(h >> 40) / (1 << 24) - 0.5, (double)(h & ((1 << 24) - 1)) / (1 << 24) - 0.5};
}

/* weigh is the sum of the parts of all frequencies, each times the weight of its place. */
static double weigh(const struct cube *c, const struct point *s)
{
	double sum = 0;

	for (int x = 0; x < c->n; x++)
		for (int y = 0; y < c->mine; y++)
			for (int z = 0; z < c->n; z++, s++) {
				uint64_t place = (uint64_t)((x * c->n + c->first + y) * c->n + z);

				sum += s->re * weight(2 * place) + s->im * weight(2 * place + 1);
			}
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

static void run(struct job *j)
{
	int n = number(j, "n");
	if (n > 512 || (n & (n - 1)) != 0)
		die("-n %d: choose a power of two from 1 to 512", n);
	struct cube c = new_cube(j, n);
	size_t points = (size_t)c.mine * (size_t)n * (size_t)n, bytes = points * sizeof(struct point);
	struct point *input = allocate(bytes), *s = allocate(bytes), *there = allocate(bytes), *at = input;

	for (int x = c.first; x < c.first + c.mine; x++)
		for (int y = 0; y < n; y++)
			for (int z = 0; z < n; z++)
				*at++ = value(x, y, z);
	for (int i = 0; i < j->times; i++) {
		start_clock(j);
		memcpy(s, input, bytes);
		transform_planes(&c, s);
		turn(&c, j, s, c.by_x, there, c.by_y);
		transform_columns(&c, there, c.mine * n);
		struct point *back = allocate(bytes);
		memcpy(s, there, bytes);
		conjugate(s, points, 1);
		transform_columns(&c, s, c.mine * n);
		turn(&c, j, s, c.by_y, back, c.by_x);
		transform_planes(&c, back);
		conjugate(back, points, 1 / ((double)n * n * n));
		stop_clock(j);
		print_time(j, n, blocking, 0, weigh(&c, there));
		free(back);
	}
	free(there);
	free(s);
	free(input);
	free_cube(&c, j);
}

struct app fft3d = {"fft3d", "a Fourier transform in three dimensions, forth and back", {{"n", "64"}}, run};
