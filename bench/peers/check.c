/*
 * check tests the parts that need no MPI: `make check` builds it with the sanitizers and runs it. The expectations on
 * the statistics are those of internal/bench in Go.
 */
#include "apps/numbers.h"
#include "common.h"
#include "solving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void want(int ok, const char *what)
{
	if (ok)
		return;
	printf("wrong: %s\n", what);
	failures++;
}

static void check_statistics(void)
{
	double up[12], one[] = {7};
	struct summary s;

	for (int i = 0; i < 12; i++)
		up[i] = (i * 5) % 12 + 1; /* 1 to 12, shuffled */
	s = summarise(up, 12, 0);
	want(s.n == 12 && s.min == 1 && s.max == 12, "extremes");
	want(s.sextile1 == 2 && s.sextile2 == 4 && s.median == 6 && s.p99 == 12, "quantiles by nearest rank");
	s = summarise(up, 12, 1);
	want(s.min == 12 && s.sextile1 == 11 && s.median == 7 && s.max == 1, "counted from the best");
	s = summarise(one, 1, 0);
	want(s.min == 7 && s.sextile1 == 7 && s.p99 == 7 && s.max == 7, "one measurement");
	s = summarise(NULL, 0, 0);
	want(s.n == 0 && s.max == 0, "no measurement");
	want(quantile_of(up, 12, 1, 6) == 2 && quantile_of(up, 12, 999, 1000) == 12, "a quantile of what is not sorted");
	want(higher_is_better("MB/s") && higher_is_better("1/s") && higher_is_better("%") && !higher_is_better("us"),
	     "which units are better when higher");
}

static void check_bins(void)
{
	const double ns[] = {1000, 1023.9, 1024, 1500, 1500}, wide[] = {0, 9, 13};
	struct bin b[MAX_BINS];

	want(bins_of(ns, 5, b) == 3 && b[0].low == 896 && b[0].share == 40 && b[1].low == 1024 && b[1].share == 20 && b[2].low == 1280 &&
	         b[2].share == 40,
	     "bins");
	want(bins_of(wide, 3, b) == 7 && b[0].low == 4 && b[1].share == 0 && b[6].low == 12, "bins without measurements between others");
}

static void check_parsing(void)
{
	struct sizes s = parse_sizes("8,64K,1M,2G,0");

	want(s.n == 5 && s.at[0] == 8 && s.at[1] == 64 * KIB && s.at[2] == MIB && s.at[3] == 2048 * MIB && s.at[4] == 0,
	     "sizes");
	want(parse_duration("100ms") == 100000000 && parse_duration("1.5s") == 1500000000 && parse_duration("2us") == 2000,
	     "durations");
	want(parse_count("window", "64", 1) == 64, "counts");
}

static void check_arguments(void)
{
	char *line[] = {"pingpong", "-sizes", "8", "--case=x", "-serve", "-late=", NULL};
	static const char *const flags[] = {"serve", NULL};
	struct arguments a = {.at = line};
	const char *name, *value;

	want(next_argument(&a, flags, &name, &value) && !*name && strcmp(value, "pingpong") == 0, "a word");
	want(next_argument(&a, flags, &name, &value) && !strcmp(name, "sizes") && !strcmp(value, "8"), "-name value");
	want(next_argument(&a, flags, &name, &value) && !strcmp(name, "case") && !strcmp(value, "x"), "--name=value");
	want(next_argument(&a, flags, &name, &value) && !strcmp(name, "serve") && !*value, "a flag");
	want(next_argument(&a, flags, &name, &value) && !strcmp(name, "late") && !*value, "an empty value");
	want(!next_argument(&a, flags, &name, &value), "the end");
}

static void check_buffers(void)
{
	unsigned char *small = buffer_new(10), *large = buffer_new(2 * MIB), *none = buffer_new(0);

	want(small[9] == 9 && large[2 * MIB - 1] == 255, "every byte written");
	want((uintptr_t)large % 4096 == 0, "aligned to a page");
	free(small);
	free(large);
	free(none);
}

/* The machine may be busy, so only the lower bound is sharp: work of 20 ms cannot take much less. */
static void check_compute(void)
{
	double took;

	calibrate();
	took = timed_compute(20000000);
	want(took > 15000 && took < 2000000, "compute(20 ms)");
	printf("compute(20 ms) took %.1f ms\n", took / 1e3);
}

/* The same number of steps for the same time, whatever the machine does meanwhile. Needs calibrate, and comes last: it
 * changes the pace. */
static void check_solving(void)
{
	int64_t once = steps_of(20000);

	want(once > 0 && steps_of(20000) == once, "the same work each time");
	want(steps_of(180000) / 9 >= once && steps_of(180000) / 9 <= once + 1, "work in proportion");
	set_pace(1000000);
	want(steps_of(20000) == 20000, "the pace that is said");
	want(solve_work(0) == 20000 && solve_work(8) == 20000 && solve_work(9) == 40000 && solve_work(MIB) == 1000000 &&
	         solve_work(64 * MIB) == 16000000,
	     "work by size");
	want(solve_count(20000) == 2000 && solve_count(1000000) == 500 && solve_count(144000000) == 10, "iterations by time");
}

/* The numbers are those of examples/internal/timing, whose test has the same. */
static void check_numbers(void)
{
	const double xs[] = {0, 1, -2.5};
	uint64_t hash = 0;

	hash_doubles(&hash, xs, 3);
	want(mix(1) == 0x5692161d100b05e5, "mix");
	want(scattered(1, 2) == 0xb95f66d327e8d78, "scattered");
	want(weight(3) == -0.386549711227417, "weight");
	want(hash == 0xe4575416e1f886e4, "hash");
}

int main(void)
{
	check_statistics();
	check_bins();
	check_parsing();
	check_arguments();
	check_buffers();
	check_compute();
	check_solving();
	check_numbers();
	puts(failures == 0 ? "ok" : "failed");
	return failures != 0;
}
