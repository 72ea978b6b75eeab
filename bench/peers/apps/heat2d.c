/* Heat spreading over a plate: examples/heat2d. Ranks have strips of rows, and exchange the outer ones in each step. */
#include "app.h"

#include <stdlib.h>
#include <string.h>

static const double conductivity = 0.2;

/* glyphs is the pattern to start from: # is hot. */
static const char *const glyphs[] = {
	"                     ", "  #####  ###  #####  ", "  #       #     #    ", "  ####    #     #    ", "  #       #     #    ",
	"  #       #     #    ", "  #      ###    #    ", "                     ", "  #   #  ####   ###  ", "  ## ##  #   #   #   ",
	"  # # #  ####    #   ", "  #   #  #       #   ", "  #   #  #       #   ", "  #   #  #      ###  ", "                     ",
};
enum { n_glyphs = sizeof glyphs / sizeof glyphs[0] };

/* strip is the rows of a rank, between one of the rank above and one of the rank below, with a cell more at both ends. */
struct strip {
	int size, rows; /* columns, and rows of this rank */
	int is_top, is_bottom;
	double *field[2]; /* the present step and the next, by turns */
	int now;
	MPI_Request halo[2][4]; /* halo[i] exchanges the outer rows of field[i] */
};

static double *row(struct strip *s, int i, int y)
{
	return s->field[i] + (size_t)y * (size_t)(s->size + 2);
}

/* insulate makes the cells beyond the edges as warm as those within. */
static void insulate(double *r, int size)
{
	r[0] = r[1];
	r[size + 1] = r[size];
}

/* connect makes the requests of every step. */
static void connect(struct strip *s, const struct job *j)
{
	enum { tag_up = 1, tag_down = 2 };
	int above = s->is_top ? MPI_PROC_NULL : j->rank - 1, below = s->is_bottom ? MPI_PROC_NULL : j->rank + 1;

	for (int i = 0; i < 2; i++) {
		MPI_Request *h = s->halo[i];

		MPI_Recv_init(row(s, i, 0), s->size + 2, MPI_DOUBLE, above, tag_down, MPI_COMM_WORLD, &h[0]);
		MPI_Recv_init(row(s, i, s->rows + 1), s->size + 2, MPI_DOUBLE, below, tag_up, MPI_COMM_WORLD, &h[1]);
		MPI_Send_init(row(s, i, 1), s->size + 2, MPI_DOUBLE, above, tag_up, MPI_COMM_WORLD, &h[2]);
		MPI_Send_init(row(s, i, s->rows), s->size + 2, MPI_DOUBLE, below, tag_down, MPI_COMM_WORLD, &h[3]);
	}
}

/* fill sets the strip to the pattern, of which its first row is row first. */
static void fill(struct strip *s, int first)
{
	int width = (int)strlen(glyphs[0]);

	s->now = 0;
	for (int y = 0; y < s->rows; y++) {
		const char *pattern = glyphs[(first + y) * n_glyphs / s->size];
		double *r = row(s, 0, y + 1);

		for (int x = 0; x < s->size; x++)
			r[x + 1] = pattern[x * width / s->size] == '#' ? 1 : 0;
		insulate(r, s->size);
	}
}

/* spread computes a row of the next step. */
static void spread(struct strip *s, int y)
{
	double *restrict next = row(s, 1 - s->now, y);
	const double *above = row(s, s->now, y - 1), *old = row(s, s->now, y), *below = row(s, s->now, y + 1);

	for (int x = 1; x <= s->size; x++) {
		double t = old[x];

		next[x] = t + conductivity * (above[x] + below[x] + old[x - 1] + old[x + 1] - 4 * t);
	}
	insulate(next, s->size);
}

static void spread_inner(struct strip *s)
{
	for (int y = 2; y < s->rows; y++)
		spread(s, y);
}

/* spread_outer computes the first row and the last, for which the rows of the neighbours are here. */
static void spread_outer(struct strip *s)
{
	size_t n = (size_t)(s->size + 2) * sizeof(double);

	if (s->is_top)
		memcpy(row(s, s->now, 0), row(s, s->now, 1), n);
	if (s->is_bottom)
		memcpy(row(s, s->now, s->rows + 1), row(s, s->now, s->rows), n);
	spread(s, 1);
	if (s->rows > 1)
		spread(s, s->rows);
}

static void step(struct strip *s, struct job *j, enum way way)
{
	MPI_Startall(4, s->halo[s->now]);
	if (way == overlap)
		spread_inner(s);
	await(j, 4, s->halo[s->now]);
	if (way == blocking)
		spread_inner(s);
	spread_outer(s);
	s->now = 1 - s->now;
}

/* answer_of is the hash of the whole plate, at rank 0. */
static uint64_t answer_of(struct strip *s, const struct job *j)
{
	uint64_t hash = 0;
	int *counts = room((size_t)j->ranks, sizeof(int)), *places = room((size_t)j->ranks, sizeof(int));
	double *mine = room((size_t)s->rows * (size_t)s->size, sizeof(double)), *all = NULL;

	for (int y = 0; y < s->rows; y++)
		memcpy(mine + (size_t)y * (size_t)s->size, row(s, s->now, y + 1) + 1, (size_t)s->size * sizeof(double));
	for (int r = 0; r < j->ranks; r++) {
		places[r] = first_of(r, j->ranks, s->size) * s->size;
		counts[r] = first_of(r + 1, j->ranks, s->size) * s->size - places[r];
	}
	if (j->rank == 0)
		all = room((size_t)s->size * (size_t)s->size, sizeof(double));
	MPI_Gatherv(mine, counts[j->rank], MPI_DOUBLE, all, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (j->rank == 0)
		hash_doubles(&hash, all, (long)s->size * s->size);
	free(all);
	free(mine);
	free(places);
	free(counts);
	return hash;
}

static void run(struct job *j)
{
	struct strip s = {.size = number(j, "size"), .is_top = j->rank == 0, .is_bottom = j->rank == j->ranks - 1};
	int steps = number(j, "steps"), first = first_of(j->rank, j->ranks, s.size);

	if (s.size < j->ranks)
		die("-size %d: choose %d, the number of ranks, or more", s.size, j->ranks);
	s.rows = first_of(j->rank + 1, j->ranks, s.size) - first;
	for (int i = 0; i < 2; i++)
		s.field[i] = room((size_t)(s.rows + 2) * (size_t)(s.size + 2), sizeof(double));
	connect(&s, j);
	for (int i = 0; i < j->times * n_ways; i++) {
		fill(&s, first);
		start_clock(j);
		for (int n = 0; n < steps; n++)
			step(&s, j, i % n_ways);
		stop_clock(j);
		print_time(j, s.size, i % n_ways, answer_of(&s, j), 0);
	}
	for (int i = 0; i < 8; i++)
		MPI_Request_free(&s.halo[i / 4][i % 4]);
	free(s.field[0]);
	free(s.field[1]);
}

struct app heat2d = {"heat2d", "heat spreading over a plate", {{"size", "512"}, {"steps", "1000"}}, run};
