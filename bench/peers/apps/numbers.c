#include "numbers.h"

#include <string.h>

/* golden is 2^64 divided by the golden ratio, made odd: its multiples are spread evenly. */
static const uint64_t golden = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t scattered(uint64_t seed, uint64_t i)
{
	return mix(mix(seed + golden) + (i + 1) * golden);
}

double weight(uint64_t i)
{
	return (double)(mix(i + golden) >> 40) / (1 << 24) - 0.5;
}

void hash_add(uint64_t *hash, uint64_t word)
{
	*hash = mix(*hash + word + golden);
}

void hash_doubles(uint64_t *hash, const double *xs, long n)
{
	for (long i = 0; i < n; i++) {
		uint64_t bits;

		memcpy(&bits, &xs[i], sizeof bits);
		hash_add(hash, bits);
	}
}
