/* Statistics of repeated measurements, and the rows in which they are reported: internal/bench in C. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int higher_is_better(const char *unit)
{
	return strcmp(unit, "MB/s") == 0 || strcmp(unit, "1/s") == 0 || strcmp(unit, "%") == 0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int descending(const void *a, const void *b)
{
	return ascending(b, a);
}

/*
 * quantile is the num/den-quantile of the n sorted measurements by the nearest rank: the first value that at least that
 * part of them is not above, always one that was measured.
 */
static double quantile(const double *xs, int n, int num, int den)
{
	int64_t i = ((int64_t)n * num + den - 1) / den;

	return xs[i > 1 ? i - 1 : 0];
}

struct summary summarise(double *xs, int n, int higher)
{
	struct summary s = {.n = n};

	if (n == 0)
		return s;
	qsort(xs, (size_t)n, sizeof xs[0], higher ? descending : ascending);
	s.min = xs[0];
	s.sextile1 = quantile(xs, n, 1, 6);
	s.sextile2 = quantile(xs, n, 2, 6);
	s.median = quantile(xs, n, 1, 2);
	s.p99 = quantile(xs, n, 99, 100);
	s.max = xs[n - 1];
	return s;
}

double median(double *xs, int n)
{
	return summarise(xs, n, 0).median;
}

double quantile_of(double *xs, int n, int num, int den)
{
	qsort(xs, (size_t)n, sizeof xs[0], ascending);
	return quantile(xs, n, num, den);
}

/* bin_width is how long the bin is that a time of 4 ns or more is in: a quarter of the power of two at or below that. */
static int64_t bin_width(int64_t ns)
{
	int64_t width = 1;

	while (ns / 8 >= width)
		width *= 2;
	return width;
}

/* bin_of is the lower bound of the bin that a time is in. */
static int64_t bin_of(double ns)
{
	int64_t at = ns < 4 ? 4 : (int64_t)ns, width = bin_width(at);

	return at / width * width;
}

int bins_of(const double *ns, int n, struct bin *bins)
{
	int64_t first = bin_of(ns[0]), last = first, low;
	int found = 0;

	for (int i = 1; i < n; i++) {
		low = bin_of(ns[i]);
		first = low < first ? low : first;
		last = low > last ? low : last;
	}
	for (low = first; low <= last && found < MAX_BINS; low += bin_width(low)) {
		int here = 0;

		for (int i = 0; i < n; i++)
			here += bin_of(ns[i]) == low;
		bins[found++] = (struct bin){low, 100.0 * here / n};
	}
	return found;
}

void write_header(void)
{
	puts("test,peer,transport,policy,ranks,case,size,measure,unit,n,min,sextile1,sextile2,median,p99,max");
	fflush(stdout);
}

void write_row(const struct row *r, double *xs, int n)
{
	struct summary s = summarise(xs, n, higher_is_better(r->unit));

	printf("%s,%s,%s,%s,%d,%s,%ld,%s,%s,", r->test, r->peer, r->transport, r->policy, r->ranks, r->kase, r->size,
	       r->measure, r->unit);
	printf("%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", s.n, s.min, s.sextile1, s.sextile2, s.median, s.p99, s.max);
	fflush(stdout);
}

void write_end(void)
{
	putchar('\n');
	fflush(stdout);
}
