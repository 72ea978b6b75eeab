/* Clusters of points by Lloyd's algorithm: examples/kmeans. Sums of a batch move while the next is computed. */
#include "app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * block is the points of a rank, and the cluster of each. A tally has for each cluster the sums of coordinates and the
 * number of its points, and then how many have changed their cluster.
 */
struct block {
	int dims, clusters, batches, iterations, tally; /* tally: its length */
	uint64_t seed;
	int n, *cluster;
	double *x;
};

/* coordinates gives the point of a number. */
static void coordinates(const struct block *b, int number_of, double *x)
{
	uint64_t place = (uint64_t)(number_of % b->clusters) * (uint64_t)b->dims, noise = (uint64_t)number_of * (uint64_t)b->dims;

	for (int d = 0; d < b->dims; d++)
		x[d] = (double)(scattered(b->seed, place + (uint64_t)d) % 2000 + scattered(~b->seed, noise + (uint64_t)d) % 1500);
}

/* nearest is the number of the centre nearest to x, the first of several. */
static int nearest(const struct block *b, const double *x, const double *centres)
{
	double best = INFINITY;
	int at = 0;

	for (int k = 0; k < b->clusters; k++, centres += b->dims) {
		double sum = 0;

		for (int d = 0; d < b->dims; d++)
			sum += (x[d] - centres[d]) * (x[d] - centres[d]);
		if (sum < best) {
			best = sum;
			at = k;
		}
	}
	return at;
}

/* assign puts points into the clusters of the nearest centres, and what they contribute to the next ones into t. */
static void assign(struct block *b, int first, int end, const double *centres, double *t)
{
	memset(t, 0, (size_t)b->tally * sizeof(double));
	for (int i = first; i < end; i++) {
		const double *x = b->x + (size_t)i * (size_t)b->dims;
		int k = nearest(b, x, centres);
		double *mine = t + (size_t)k * (size_t)(b->dims + 1);

		if (k != b->cluster[i]) {
			b->cluster[i] = k;
			t[b->tally - 1]++;
		}
		for (int d = 0; d < b->dims; d++)
			mine[d] += x[d];
		mine[b->dims]++;
	}
}

/* move makes the centres the means of their points; a centre without points stays. */
static void move(const struct block *b, const double *t, double *centres)
{
	for (int k = 0; k < b->clusters; k++) {
		const double *mine = t + (size_t)k * (size_t)(b->dims + 1);

		for (int d = 0; d < b->dims && mine[b->dims] > 0; d++)
			centres[k * b->dims + d] = mine[d] / mine[b->dims];
	}
}

/* cluster does all iterations and gives their number. mine and all have room for a tally for each batch. */
static int cluster(struct block *b, struct job *j, enum way way, double *centres, double *mine, double *all,
		   MPI_Request *sums)
{
	size_t tally = (size_t)b->tally;

	for (int n = 1;; n++) {
		for (int i = 0; i < b->batches; i++) {
			assign(b, (int)((int64_t)i * b->n / b->batches), (int)((int64_t)(i + 1) * b->n / b->batches), centres,
			       mine + (size_t)i * tally);
			MPI_Iallreduce(mine + (size_t)i * tally, all + (size_t)i * tally, b->tally, MPI_DOUBLE, MPI_SUM,
				       MPI_COMM_WORLD, &sums[i]);
			if (way == blocking)
				await(j, 1, &sums[i]);
		}
		await(j, b->batches, sums);
		for (int i = 1; i < b->batches; i++)
			for (size_t k = 0; k < tally; k++)
				all[k] += all[(size_t)i * tally + k];
		move(b, all, centres);
		if (all[tally - 1] == 0 || n == b->iterations)
			return n;
	}
}

static struct block new_block(const struct job *j, int points)
{
	struct block b = {.dims = number(j, "dims"), .clusters = number(j, "clusters"), .batches = number(j, "batches"),
			  .iterations = number(j, "iterations"), .seed = (uint64_t)number(j, "seed")};
	int first = first_of(j->rank, j->ranks, points);

	b.tally = b.clusters * (b.dims + 1) + 1;
	b.n = first_of(j->rank + 1, j->ranks, points) - first;
	b.cluster = room((size_t)b.n, sizeof(int));
	b.x = room((size_t)b.n * (size_t)b.dims, sizeof(double));
	for (int i = 0; i < b.n; i++)
		coordinates(&b, first + i, b.x + (size_t)i * (size_t)b.dims);
	return b;
}

/* measure does it all once, from the first centres on, which are the first points. */
static void measure(struct block *b, struct job *j, int points, enum way way)
{
	size_t tallies = (size_t)b->batches * (size_t)b->tally;
	long n = (long)b->clusters * b->dims;
	double *centres = room((size_t)n, sizeof(double));
	double *mine = room(tallies, sizeof(double)), *all = room(tallies, sizeof(double));
	MPI_Request *sums = room((size_t)b->batches, sizeof(MPI_Request));
	uint64_t hash = 0;

	for (int k = 0; k < b->clusters; k++)
		coordinates(b, k, centres + (size_t)k * (size_t)b->dims);
	for (int i = 0; i < b->n; i++)
		b->cluster[i] = -1;
	start_clock(j);
	int iterations = cluster(b, j, way, centres, mine, all, sums);
	stop_clock(j);
	hash_doubles(&hash, centres, n);
	hash_add(&hash, (uint64_t)iterations);
	print_time(j, points, way, hash, 0);
	free(sums);
	free(all);
	free(mine);
	free(centres);
}

static void run(struct job *j)
{
	int points = number(j, "points");
	struct block b = new_block(j, points);

	if (points < b.clusters)
		die("-points %d: choose %d, the number of clusters, or more", points, b.clusters);
	for (int i = 0; i < j->times * n_ways; i++)
		measure(&b, j, points, i % n_ways);
	free(b.x);
	free(b.cluster);
}

struct app kmeans = {
	"kmeans",
	"clusters of points",
	{{"points", "100000"}, {"dims", "8"}, {"clusters", "12"}, {"batches", "4"}, {"iterations", "100"}, {"seed", "1"}},
	run,
};
