/* What the C programs of test solve share: how much work there is beside a message, and how often it is repeated. */
#ifndef FITMPI_BENCH_SOLVING_H
#define FITMPI_BENCH_SOLVING_H

#include <stdint.h>

#define SOLVE_SIZES "8,16K,64K,256K,1M,4M,16M"

/* solve_cases are the amounts of work: so many times that of the size. */
enum { n_solve_cases = 3 };
struct solve_case {
	const char *name;
	int times;
};
extern const struct solve_case solve_cases[n_solve_cases];

/* solve_work is how long, in ns, a rank alone computes beside a message of this size, once. */
int64_t solve_work(long size);

/*
 * solve_count is how many iterations with work of so many ns are measured, unless the user says: as many as half a
 * second of that work holds. So it is the same for all that are measured, however slow they are.
 */
int solve_count(int64_t work);

#endif
