/*
 * Test solve: how long an iteration takes that exchanges a message with a neighbour and does a fixed amount of work.
 * Nothing holds the ranks together but the messages, and nothing is subtracted: what communication takes from the
 * work, and what is left to wait for, is all in the time of the iteration.
 */
#include "mpibench.h"
#include "solving.h"

#include <stdlib.h>

/* solver is one rank of the ring, with messages of one size and one amount of work. */
struct solver {
	int size, left, right;
	unsigned char *out, *in;
	int64_t steps;
};

/* iterate is one iteration; it returns the us that the work in it took. */
static double iterate(struct solver *s)
{
	MPI_Request r[2];
	int64_t start;
	double worked;

	MPI_Irecv(s->in, s->size, MPI_BYTE, s->left, data_tag, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(s->out, s->size, MPI_BYTE, s->right, data_tag, MPI_COMM_WORLD, &r[1]);
	start = now_ns();
	compute_steps(s->steps);
	worked = micros(start);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	return worked;
}

static void measure_solve(struct env *e, struct solver *s, const struct solve_case *c)
{
	int64_t ns = solve_work(s->size) * c->times, begun = 0, last, end;
	int n = iterations(e, solve_count(ns)), w = warmup(e, n);
	double *took = samples(n), *worked = samples(n), mean, steps;

	s->steps = steps_of(ns);
	MPI_Bcast(&s->steps, 1, MPI_INT64_T, 0, e->control); /* every rank does as much as rank 0 */
	MPI_Barrier(e->control);
	last = now_ns();
	for (int i = -w; i < n; i++) {
		int at = i > 0 ? i : 0; /* 0 is overwritten by the first that counts */

		if (i == 0)
			begun = last;
		worked[at] = iterate(s);
		end = now_ns();
		took[at] = (double)(end - last) / 1e3;
		last = end;
	}
	mean = (double)(last - begun) / 1e3 / n;
	steps = (double)s->steps;
	report(e, 0, c->name, s->size, "iteration", "us", took, n);
	report_slowest(e, c->name, s->size, "mean-iteration", "us", &mean, 1);
	report(e, 0, c->name, s->size, "work", "us", worked, n);
	report(e, 0, c->name, s->size, "steps", "1", &steps, 1);
	free(took);
	free(worked);
}

void run_solve(struct env *e)
{
	const char *names[n_solve_cases + 1] = {NULL};

	for (int c = 0; c < n_solve_cases; c++)
		names[c] = solve_cases[c].name;
	check_case(e, names);
	for (int i = 0; i < e->opt->sizes.n; i++) {
		size_t size = (size_t)e->opt->sizes.at[i];
		struct solver s = {.size = (int)size, .left = (e->rank + e->ranks - 1) % e->ranks, .right = (e->rank + 1) % e->ranks,
		                   .out = buffer_new(size), .in = buffer_new(size)};

		for (int c = 0; c < n_solve_cases; c++)
			if (wants(e, solve_cases[c].name))
				measure_solve(e, &s, &solve_cases[c]);
		free(s.out);
		free(s.in);
	}
}
