/* The collectives that mpibench measures, blocking and nonblocking. */
#ifndef FITMPI_BENCH_COLLECTIVES_H
#define FITMPI_BENCH_COLLECTIVES_H

#include "mpibench.h"

/* operands are the buffers of a collective. The size is what one rank contributes; of alltoall and scatter, to each rank. */
struct operands {
	int bytes;           /* size */
	int doubles;         /* size in float64, at least 1; what sums work on */
	int share;           /* doubles of each rank of a reduce_scatter, at least 1 */
	unsigned char *out;  /* ranks x size */
	unsigned char *in;   /* ranks x size */
	int *counts, *starts, *shares; /* by rank, for the v collectives: size, where its bytes begin, share */
};

/* collective is one of them. The request of start is waited for by the caller. */
struct collective {
	const char *name; /* of the blocking one; the nonblocking one has an i before it */
	int has_size;
	int vector; /* a v collective: only measured when it is named */
	void (*run)(struct operands *o);
	void (*start)(struct operands *o, MPI_Request *r);
};

/* collectives ends with one that has no name. */
extern const struct collective collectives[];

#endif
