/* Computing for a given time, without looking at the clock: what takes longer was disturbed. */
#include "common.h"

/*
 * The work is one chain of multiply-adds, each of which needs the result of the one before, so it runs at the latency
 * of the floating-point unit whatever the compiler makes of it, and touches no memory. The factor is below 1, so the
 * value converges and is neither infinite nor denormal, which would change the speed.
 */
static const double factor = 0.9999999, addend = 1e-3;

static double steps_per_ns;
static volatile double sink; /* keeps the compiler from leaving the work out */

static void work(int64_t steps)
{
	double x = sink;

	for (int64_t i = 0; i < steps; i++)
		x = x * factor + addend;
	sink = x;
}

/*
 * calibrate takes the fastest of several runs: whatever else the machine did made the others slower. A run is shorter
 * than a time slice, so that one of them is whole even where ranks share a core.
 */
void calibrate(void)
{
	enum { runs = 40 };
	const int64_t steps = 500000; /* 1 to 2 ms */
	int64_t best = INT64_MAX;

	for (int i = 0; i < runs; i++) {
		int64_t start = now_ns(), took;

		work(steps);
		took = now_ns() - start;
		if (took < best)
			best = took;
	}
	steps_per_ns = (double)steps / (double)best;
}

void set_pace(int64_t steps_per_ms)
{
	steps_per_ns = (double)steps_per_ms / 1e6;
}

int64_t steps_of(int64_t ns)
{
	if (steps_per_ns == 0)
		die("bug: compute before calibrate");
	return (int64_t)((double)ns * steps_per_ns);
}

void compute_steps(int64_t steps)
{
	work(steps);
}

void compute(int64_t ns)
{
	work(steps_of(ns));
}

double timed_compute(int64_t ns)
{
	int64_t start = now_ns();

	compute(ns);
	return micros(start);
}
