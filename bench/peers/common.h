/*
 * What mpibench, rawtcp and limits share: clock, buffers, command lines, statistics and the CSV. Nothing here knows
 * of MPI. bench/METHOD.md is the contract; internal/bench is the same in Go.
 */
#ifndef FITMPI_BENCH_COMMON_H
#define FITMPI_BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>

#define KIB 1024L
#define MIB (1024L * 1024L)

/* die writes one line, "PROGRAM: " first, to standard error and ends the process with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* now_ns is CLOCK_MONOTONIC in nanoseconds. */
int64_t now_ns(void);

/* micros is the time since start, in microseconds. */
double micros(int64_t start);

/* allocate is malloc that cannot fail: it ends the process instead. The memory of n = 0 may be freed too. */
void *allocate(size_t n);

/* buffer_new makes a buffer of n bytes, every one of them written, aligned to a page if it has a page or more. */
unsigned char *buffer_new(size_t n);

/* sizes is a list of message sizes in bytes; of test match, of depths. */
#define MAX_SIZES 64
struct sizes {
	int n;
	long at[MAX_SIZES];
};

/* parse_sizes reads sizes such as "8,64K,1M" and dies if it cannot. */
struct sizes parse_sizes(const char *text);

/* parse_count reads a whole number from least upwards, and dies with the option's name if it cannot. */
int parse_count(const char *option, const char *text, int least);

/* parse_duration reads a duration such as "100ms", in nanoseconds; units ns, us, ms, s. It dies if it cannot. */
int64_t parse_duration(const char *text);

/* arguments walks over a command line of "-name value", "--name value" and "-name=value", and of words. */
struct arguments {
	char **at; /* the next argument; the list ends with NULL */
	char name[32];
};

/*
 * next_argument gives the next argument: an option's name without its dashes and its value in *value, or a word, with
 * "" for a name. It is 0 at the end. An option without a value ends the process, except those in flags, a list of
 * names that ends with NULL.
 */
int next_argument(struct arguments *a, const char *const *flags, const char **name, const char **value);

/* repetitions is how often a measurement with messages of this size is repeated, unless the user says. */
int repetitions(long size);

/* at_least is the greater of two numbers. */
int at_least(int least, int n);

/* summary describes the distribution of repeated measurements; see Summary in internal/bench. */
struct summary {
	int n;
	double min, sextile1, sextile2, median, p99, max;
};

/* higher_is_better tells of a unit whether more of it is better. */
int higher_is_better(const char *unit);

/* summarise describes the n measurements in xs, which it sorts: from the best, if higher is better, else from the least. */
struct summary summarise(double *xs, int n, int higher);

/* median sorts the n > 0 measurements in xs and gives the middle one. */
double median(double *xs, int n);

/* quantile_of sorts the n > 0 measurements in xs and gives their num/den-quantile by the nearest rank. */
double quantile_of(double *xs, int n, int num, int den);

/* bin is one bar of a histogram of times; see Bin in internal/bench. */
struct bin {
	int64_t low;  /* its lower bound in ns */
	double share; /* of the measurements, in percent */
};

/* bins_of makes the histogram of the n > 0 times in ns, and tells how many bins it has; see Bins in internal/bench. */
#define MAX_BINS 256
int bins_of(const double *ns, int n, struct bin *bins);

/* row says under which conditions a figure was measured; fields as in the CSV. */
struct row {
	const char *test, *peer, *transport, *policy;
	int ranks;
	const char *kase;
	long size;
	const char *measure, *unit;
};

/* write_header writes the first line of the CSV to standard output, write_row one row with the summary of xs, which it sorts. */
void write_header(void);
void write_row(const struct row *r, double *xs, int n);

/* write_end writes an empty line, which says that no rows are missing, whatever becomes of the process after that. */
void write_end(void);

/* calibrate finds out how fast compute is on an undisturbed core. Call it once, before the first compute. */
void calibrate(void);

/* set_pace says it instead. */
void set_pace(int64_t steps_per_ms);

/* compute does floating-point work on registers, of a fixed number of steps that takes ns nanoseconds if undisturbed. */
void compute(int64_t ns);

/* steps_of is of how many steps the work of compute(ns) is, compute_steps does that many. */
int64_t steps_of(int64_t ns);
void compute_steps(int64_t steps);

/* timed_compute is compute; it returns the microseconds that the work took. */
double timed_compute(int64_t ns);

#endif
