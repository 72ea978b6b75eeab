/* The job as the tests see it: repetitions, sync, and results on their way to rank 0. */
#include "mpibench.h"

#include <stdlib.h>
#include <string.h>

int wants(const struct env *e, const char *kase)
{
	return *e->opt->kase == '\0' || strcmp(e->opt->kase, kase) == 0;
}

void check_case(const struct env *e, const char *const *names)
{
	for (; *names != NULL; names++)
		if (wants(e, *names))
			return;
	die("test %s has no case %s", e->opt->test->name, e->opt->kase);
}

int iterations(const struct env *e, int by_default)
{
	return e->opt->iterations > 0 ? e->opt->iterations : by_default;
}

int warmup(const struct env *e, int n)
{
	return e->opt->warmup >= 0 ? e->opt->warmup : at_least(5, n / 10);
}

void sync_pair(struct env *e)
{
	char b = 0;

	if (e->rank == 0)
		MPI_Send(&b, 1, MPI_BYTE, 1, 0, e->control);
	MPI_Recv(&b, 1, MPI_BYTE, 1 - e->rank, 0, e->control, MPI_STATUS_IGNORE);
	if (e->rank == 1)
		MPI_Send(&b, 1, MPI_BYTE, 0, 0, e->control);
}

double *samples(int n)
{
	return allocate((size_t)n * sizeof(double));
}

/* write writes a row of this job; rank 0 calls it. */
static void write(struct env *e, const char *kase, long size, const char *measure, const char *unit, double *xs, int n)
{
	const struct options *o = e->opt;
	struct row r = {o->test->name, o->peer, o->transport, o->policy, e->ranks, kase, size, measure, unit};

	write_row(&r, xs, n);
}

void report(struct env *e, int from, const char *kase, long size, const char *measure, const char *unit, double *xs, int n)
{
	if (from != 0 && e->rank == from)
		MPI_Send(xs, n, MPI_DOUBLE, 0, 0, e->control);
	if (from != 0 && e->rank == 0)
		MPI_Recv(xs, n, MPI_DOUBLE, from, 0, e->control, MPI_STATUS_IGNORE);
	if (e->rank == 0)
		write(e, kase, size, measure, unit, xs, n);
}

void report_slowest(struct env *e, const char *kase, long size, const char *measure, const char *unit, double *xs, int n)
{
	double *slowest = samples(n);

	MPI_Reduce(xs, slowest, n, MPI_DOUBLE, MPI_MAX, 0, e->control);
	if (e->rank == 0)
		write(e, kase, size, measure, unit, slowest, n);
	free(slowest);
}
