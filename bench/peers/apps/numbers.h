/* Numbers without any order, and hashes: examples/internal/timing in C. Nothing here knows of MPI. */
#ifndef FITMPI_BENCH_NUMBERS_H
#define FITMPI_BENCH_NUMBERS_H

#include <stdint.h>

/* mix scatters the bits of x: the last step of the generator SplitMix64. */
uint64_t mix(uint64_t x);

/* scattered is number i of the sequence of numbers without any order that belongs to seed. */
uint64_t scattered(uint64_t seed, uint64_t i);

/* weight is a number between -1/2 and 1/2 that belongs to i. */
double weight(uint64_t i);

/* hash_add adds a word to a hash, which is 0 at first; hash_doubles the bits of numbers. */
void hash_add(uint64_t *hash, uint64_t word);
void hash_doubles(uint64_t *hash, const double *xs, long n);

#endif
