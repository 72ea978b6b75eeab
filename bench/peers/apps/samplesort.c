/* Sorting numbers that are spread over the ranks, by samples: examples/samplesort, whose input "scattered" this is. */
#include "app.h"

#include <stdlib.h>
#include <string.h>

/* item is a number with the place where it was, so that no two are equal. */
struct item {
	int64_t key;
	int32_t rank, index;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* items is some of them. */
struct items {
	int n;
	struct item *at;
};

static MPI_Datatype item_type;

static struct items make_items(const struct job *j, int n)
{
	int first = first_of(j->rank, j->ranks, n);
	struct items mine = {first_of(j->rank + 1, j->ranks, n) - first, NULL};

	mine.at = room((size_t)mine.n, sizeof(struct item));
	for (int i = 0; i < mine.n; i++)
		mine.at[i] = (struct item){(int64_t)(scattered(0, (uint64_t)(first + i)) >> 1), j->rank, i};
	return mine;
}

/*
 * choose_splitters gives the splitters, the same on every rank: at most one fewer than there are ranks. A rank gives as
 * many samples as there are ranks, or what it has; one whose rank is -1 is none.
 */
static struct items choose_splitters(const struct job *j, struct items sorted)
{
	int p = j->ranks, n = sorted.n < p ? sorted.n : p, all = 0;
	struct item *mine = room((size_t)p, sizeof(struct item)), *samples = room((size_t)p * (size_t)p, sizeof(struct item));
	struct items splitters = {0, room((size_t)p, sizeof(struct item))};

	for (int i = 0; i < p; i++)
		mine[i] = i < n ? sorted.at[(int64_t)i * sorted.n / n] : (struct item){0, -1, 0};
	MPI_Allgather(mine, p, item_type, samples, p, item_type, MPI_COMM_WORLD);
	for (int i = 0; i < p * p; i++)
		if (samples[i].rank >= 0)
			samples[all++] = samples[i];
	qsort(samples, (size_t)all, sizeof(struct item), compare);
	for (int r = 1; r < p && all > 0; r++) {
		int i = (int)((int64_t)r * all / p) + p / 2;

		splitters.at[splitters.n++] = samples[i < all ? i : all - 1];
	}
	free(samples);
	free(mine);
	return splitters;
}

/* before is how many of the sorted items come before s. */
static int before(struct items sorted, const struct item *s)
{
	int low = 0, high = sorted.n;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (compare(&sorted.at[middle], s) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* exchange moves sorted items to where they belong: sorted runs, that from rank r of counts[r] items, one after the other. */
static struct items exchange(struct job *j, struct items sorted, int *counts)
{
	int64_t began = now_ns();
	int p = j->ranks, *give = room(3 * (size_t)p, sizeof(int)), *give_at = give + p, *get_at = give_at + p;
	struct items splitters = choose_splitters(j, sorted), runs = {0, NULL};

	for (int r = 1; r < p; r++)
		give_at[r] = r <= splitters.n ? before(sorted, &splitters.at[r - 1]) : sorted.n;
	for (int r = 0; r < p; r++)
		give[r] = (r + 1 < p ? give_at[r + 1] : sorted.n) - give_at[r];
	MPI_Alltoall(give, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < p; r++) {
		get_at[r] = runs.n;
		runs.n += counts[r];
	}
	runs.at = allocate((size_t)runs.n * sizeof(struct item));
	MPI_Alltoallv(sorted.at, give, give_at, item_type, runs.at, counts, get_at, item_type, MPI_COMM_WORLD);
	free(splitters.at);
	free(give);
	j->waited += now_ns() - began;
	return runs;
}

/* cursor is what is left of a sorted run. */
struct cursor {
	const struct item *at, *end;
};

/* sink moves the first of a heap of n runs down to where it belongs. */
static void sink(struct cursor *heap, int n, int i)
{
	for (;;) {
		int least = 2 * i + 1;

		if (least >= n)
			return;
		if (least + 1 < n && compare(heap[least + 1].at, heap[least].at) < 0)
			least++;
		if (compare(heap[i].at, heap[least].at) <= 0)
			return;
		struct cursor c = heap[i];
		heap[i] = heap[least];
		heap[least] = c;
		i = least;
	}
}

/* merge merges sorted runs that lie one behind the other. */
static struct items merge(const struct job *j, struct items runs, const int *counts)
{
	struct cursor *heap = room((size_t)j->ranks, sizeof(struct cursor));
	struct items out = {0, allocate((size_t)runs.n * sizeof(struct item))};
	const struct item *at = runs.at;
	int n = 0;

	for (int r = 0; r < j->ranks; at += counts[r++])
		if (counts[r] > 0)
			heap[n++] = (struct cursor){at, at + counts[r]};
	for (int i = n / 2 - 1; i >= 0; i--)
		sink(heap, n, i);
	while (n > 0) {
		out.at[out.n++] = *heap[0].at++;
		if (heap[0].at == heap[0].end)
			heap[0] = heap[--n];
		sink(heap, n, 0);
	}
	free(heap);
	return out;
}

/* answer_of adds up, over the items of all ranks, what tells a number at its place in the order of all from any other. */
static uint64_t answer_of(const struct job *j, struct items sorted)
{
	int first = 0;
	uint64_t sum = 0;

	MPI_Exscan(&sorted.n, &first, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (j->rank == 0)
		first = 0;
	for (int i = 0; i < sorted.n; i++)
		sum += mix((uint64_t)sorted.at[i].key + scattered(1, (uint64_t)(first + i)));
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

static void run(struct job *j)
{
	int n = number(j, "n"), *counts = room((size_t)j->ranks, sizeof(int));
	struct items input = make_items(j, n), mine = {input.n, allocate((size_t)input.n * sizeof(struct item))};

	if (strcmp(text(j, "input"), "scattered") != 0)
		die("-input %s: only scattered", text(j, "input"));
	MPI_Type_contiguous((int)sizeof(struct item), MPI_BYTE, &item_type);
	MPI_Type_commit(&item_type);
	for (int i = 0; i < j->times; i++) {
		memcpy(mine.at, input.at, (size_t)input.n * sizeof(struct item));
		start_clock(j);
		qsort(mine.at, (size_t)mine.n, sizeof(struct item), compare);
		struct items runs = exchange(j, mine, counts), sorted = merge(j, runs, counts);
		stop_clock(j);
		print_time(j, n, blocking, answer_of(j, sorted), 0);
		free(sorted.at);
		free(runs.at);
	}
	MPI_Type_free(&item_type);
	free(mine.at);
	free(input.at);
	free(counts);
}

struct app samplesort = {"samplesort", "sorting numbers by samples", {{"n", "1000000"}, {"input", "scattered"}}, run};
