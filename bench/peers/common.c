#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double micros(int64_t start)
{
	return (double)(now_ns() - start) / 1e3;
}

void *allocate(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
		die("no memory for %zu bytes", n);
	return p;
}

#define PAGE ((size_t)4096)
#define CACHE_LINE ((size_t)64)

unsigned char *buffer_new(size_t n)
{
	void *p;
	unsigned char *b;
	size_t alignment = n >= PAGE ? PAGE : CACHE_LINE;

	if (posix_memalign(&p, alignment, n > 0 ? n : 1) != 0)
		die("no memory for a buffer of %zu bytes", n);
	b = p;
	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)i;
	return b;
}

/* parse_size reads one size, of which end is the end, and moves *text there. */
static long parse_size(const char **text)
{
	static const char units[] = "KMG";
	char *end;
	const char *unit;
	long n, factor = 1;

	errno = 0;
	n = strtol(*text, &end, 10);
	if (end == *text || errno != 0 || n < 0)
		die("size %s: need bytes such as 8, 64K or 1M", *text);
	if (*end != '\0' && (unit = strchr(units, *end)) != NULL) {
		factor = 1L << (10 * (unit - units + 1));
		end++;
	}
	if (n > (1L << 40) / factor)
		die("size %s: too large", *text);
	*text = end;
	return n * factor;
}

struct sizes parse_sizes(const char *text)
{
	struct sizes s = {.n = 0};
	const char *at = text;

	for (;;) {
		if (s.n == MAX_SIZES)
			die("sizes %s: more than %d", text, MAX_SIZES);
		s.at[s.n++] = parse_size(&at);
		if (*at == '\0')
			return s;
		if (*at++ != ',')
			die("sizes %s: need bytes such as 8,64K,1M", text);
	}
}

int parse_count(const char *option, const char *text, int least)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || n < least || n > INT_MAX)
		die("-%s %s: need a whole number, %d or more", option, text, least);
	return (int)n;
}

int64_t parse_duration(const char *text)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double x = strtod(text, &end);

	for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++) {
		double ns = x * units[i].ns;
		if (strcmp(end, units[i].name) == 0 && ns >= 0 && ns <= 3600e9)
			return (int64_t)ns;
	}
	die("duration %s: need one such as 100ms, an hour at most", text);
}

int next_argument(struct arguments *a, const char *const *flags, const char **name, const char **value)
{
	const char *text = *a->at;
	size_t length;

	if (text == NULL)
		return 0;
	a->at++;
	*name = "";
	*value = text;
	if (text[0] != '-')
		return 1;
	text += text[1] == '-' ? 2 : 1;
	length = strcspn(text, "=");
	if (length == 0 || length >= sizeof a->name)
		die("option %s: there is no such option", *value);
	memcpy(a->name, text, length);
	a->name[length] = '\0';
	*name = a->name;
	for (; *flags != NULL; flags++)
		if (strcmp(*flags, a->name) == 0) {
			*value = "";
			return 1;
		}
	if (text[length] == '=') {
		*value = text + length + 1;
		return 1;
	}
	if (*a->at == NULL)
		die("option -%s needs a value", a->name);
	*value = *a->at++;
	return 1;
}

int repetitions(long size)
{
	if (size <= 4 * KIB)
		return 5000;
	if (size <= 64 * KIB)
		return 2000;
	if (size <= MIB)
		return 300;
	return 40;
}

int at_least(int least, int n)
{
	return n > least ? n : least;
}
