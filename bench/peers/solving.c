/* The amounts of work of test solve; cmd/fitbench has the same. */
#include "solving.h"

#include "common.h"

const struct solve_case solve_cases[n_solve_cases] = {{"work-1", 1}, {"work-3", 3}, {"work-9", 9}};

int64_t solve_work(long size)
{
	static const struct {
		long size; /* up to */
		int64_t us;
	} classes[] = {{8, 20}, {16 * KIB, 40}, {64 * KIB, 100}, {256 * KIB, 300}, {MIB, 1000}, {4 * MIB, 4000}, {16 * MIB, 16000}};
	enum { n = sizeof classes / sizeof classes[0] };
	int i = 0;

	while (i < n - 1 && size > classes[i].size)
		i++;
	return classes[i].us * 1000;
}

int solve_count(int64_t work)
{
	const int64_t bound = 500000000, least = 10, most = 2000;
	int64_t n = bound / work;

	if (n < least)
		return (int)least;
	return (int)(n > most ? most : n);
}
