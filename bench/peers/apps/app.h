/*
 * What the applications share: the options, the clock, and the line in which a measurement is printed. They are the
 * programs of examples/ in C, by the same steps; with -time N the examples print the same lines (see
 * examples/internal/timing).
 */
#ifndef FITMPI_BENCH_APP_H
#define FITMPI_BENCH_APP_H

#include "../common.h"
#include "numbers.h"

#include <mpi.h>

struct job;

/* param is an option of an application: its name, and its value, by default or as the user says. */
struct param {
	const char *name, *value;
};

/* app is an application. Every rank calls run, which measures as often as the user says. */
struct app {
	const char *name, *about;
	struct param params[8]; /* the list ends with an empty name */
	void (*run)(struct job *j);
};

extern struct app heat2d, cg, fft3d, samplesort, kmeans, matmul;

/* job is what an application gets, and a clock. */
struct job {
	const struct app *app;
	int rank, ranks;
	int times;
	int64_t began, took, waited; /* ns */
};

/* number is the value of an option, a whole number from 1 up; text as it was given. */
int number(const struct job *j, const char *name);
const char *text(const struct job *j, const char *name);

/* The ways in which an application exchanges. */
enum way { overlap, blocking, n_ways };

/* start_clock waits for all ranks and starts the clock. */
void start_clock(struct job *j);

/* await waits for requests, and counts the time as waited for. */
void await(struct job *j, int n, MPI_Request *requests);

/* stop_clock stops the time of this rank. */
void stop_clock(struct job *j);

/*
 * print_time prints the times of the slowest rank, at rank 0. The answer must be the same to the last bit,
 * wherever it is computed; the value but for rounding. Both matter at rank 0 only.
 */
void print_time(struct job *j, int size, enum way way, uint64_t answer, double value);

/* first_of is the first of n things that rank r of size has; they are dealt out evenly. */
int first_of(int r, int size, int n);

/* room is allocate for n things of a size each; every byte is 0. */
void *room(size_t n, size_t size);

#endif
