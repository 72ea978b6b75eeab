/* The clock of an application, and the line that it prints. */
#include "app.h"

#include <stdio.h>
#include <string.h>

void start_clock(struct job *j)
{
	MPI_Barrier(MPI_COMM_WORLD);
	j->waited = 0;
	j->began = now_ns();
}

void await(struct job *j, int n, MPI_Request *requests)
{
	int64_t began = now_ns();

	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	j->waited += now_ns() - began;
}

void stop_clock(struct job *j)
{
	j->took = now_ns() - j->began;
}

void print_time(struct job *j, int size, enum way way, uint64_t answer, double value)
{
	int64_t mine[] = {j->took, j->waited}, slowest[2];

	MPI_Reduce(mine, slowest, 2, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	if (j->rank != 0)
		return;
	printf("time %s ranks=%d size=%d way=%s seconds=%.9f waited=%.9f answer=%016llx value=%.17g\n", j->app->name, j->ranks, size,
	       way == overlap ? "overlap" : "blocking", (double)slowest[0] / 1e9, (double)slowest[1] / 1e9,
	       (unsigned long long)answer, value);
	fflush(stdout);
}

int first_of(int r, int size, int n)
{
	return (int)((int64_t)r * n / size);
}

void *room(size_t n, size_t size)
{
	return memset(allocate(n * size), 0, n * size);
}
