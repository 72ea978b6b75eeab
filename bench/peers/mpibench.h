/* What the tests of mpibench share: the options, the job, and how results reach rank 0. */
#ifndef FITMPI_BENCH_MPIBENCH_H
#define FITMPI_BENCH_MPIBENCH_H

#include "common.h"

#include <mpi.h>

struct test;

/* options are what the command line says. */
struct options {
	const struct test *test;
	const char *peer, *transport, *policy;
	const char *kase; /* measure this case only; "" for all that the test has by default */
	struct sizes sizes;
	int iterations; /* 0: by size */
	int warmup;     /* -1: by iterations */
	int window;     /* 0: by size */
	int64_t late;   /* ns */
	int pace;       /* steps of work in a millisecond; 0: calibrate */
	int any;        /* test pingpong receives from any source with any tag */
};

/* env is what a test gets. */
struct env {
	const struct options *opt;
	int rank, ranks;
	MPI_Comm control; /* for messages that are not measured, so that they cannot match those that are */
};

/* test is one benchmark. Every rank calls run; before, if any, is called before MPI_Init. */
struct test {
	const char *name, *about, *sizes; /* sizes: default of -sizes, "" if the test has no sizes */
	int min_ranks;
	int computes; /* needs calibrate */
	void (*before)(const struct options *opt);
	void (*run)(struct env *e);
};

/* The tests, see bench/METHOD.md. */
void run_pingpong(struct env *e);
void run_pingping(struct env *e);
void run_bw(struct env *e);
void run_bibw(struct env *e);
void run_rate(struct env *e);
void run_match(struct env *e);
void run_send(struct env *e);
void run_isend_wait(struct env *e);
void run_overlap(struct env *e);
void run_collective_overlap(struct env *e);
void run_solve(struct env *e);
void run_coll(struct env *e);
void before_slowdown(const struct options *opt);
void run_slowdown(struct env *e);
void before_scale(const struct options *opt);
void run_scale(struct env *e);
void run_duplex(struct env *e);
void run_multi(struct env *e);
void run_queued(struct env *e);
void run_histogram(struct env *e);
void run_bsend(struct env *e);
void run_types(struct env *e);

/*
 * bounce sends out and receives in at the lower rank of a pair, the other way round at the higher; cross does so at both at once. Ranks
 * 0 and 1 are a pair, 2 and 3, and so on.
 */
void bounce(struct env *e, unsigned char *out, unsigned char *in, int size);
void cross(struct env *e, unsigned char *out, unsigned char *in, int size);
int partner(const struct env *e);

/* Tags of messages between the measured ones in MPI_COMM_WORLD. */
enum { data_tag = 1, ack_tag = 2 };

/* wants tells whether the user wants this case of the test, or all of them. */
int wants(const struct env *e, const char *kase);

/* check_case ends the process if the user wants a case that the test does not have; names ends with NULL. */
void check_case(const struct env *e, const char *const *names);

/* iterations is how many measurements to take: as the user says, else by_default. */
int iterations(const struct env *e, int by_default);

/* warmup is how many repetitions come before n measured ones. */
int warmup(const struct env *e, int n);

/* sync lets ranks 0 and 1 start together: rank 0 sends one byte, which rank 1 answers. */
void sync_pair(struct env *e);

/* samples makes room for n measurements. */
double *samples(int n);

/* report writes a row at rank 0 with the n measurements that rank from took; ranks 0 and from call it. */
void report(struct env *e, int from, const char *kase, long size, const char *measure, const char *unit, double *xs, int n);

/* report_slowest writes a row in which each measurement is the largest of all ranks'; every rank calls it. */
void report_slowest(struct env *e, const char *kase, long size, const char *measure, const char *unit, double *xs, int n);

/* overlap_percent is how much of the pure time of a transfer was hidden, from 0 to 100, if it took total with the
 * computed time in it. */
double overlap_percent(double total, double computed, double pure);

/*
 * half_rtt is the value (first sextile) of half the round trip in us over n ping-pongs of ranks 0 and 1. Both call it,
 * and both get rank 0's.
 */
double half_rtt(struct env *e, unsigned char *out, unsigned char *in, long size, int n);

#endif
