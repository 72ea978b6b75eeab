/* The calls of the collectives, as bench/METHOD.md says: of bytes, or sums of float64; the root is rank 0. */
#include "collectives.h"

static void barrier(struct operands *o)
{
	(void)o;
	MPI_Barrier(MPI_COMM_WORLD);
}

static void ibarrier(struct operands *o, MPI_Request *r)
{
	(void)o;
	MPI_Ibarrier(MPI_COMM_WORLD, r);
}

static void bcast(struct operands *o)
{
	MPI_Bcast(o->out, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void ibcast(struct operands *o, MPI_Request *r)
{
	MPI_Ibcast(o->out, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, r);
}

static void reduce(struct operands *o)
{
	MPI_Reduce(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void ireduce(struct operands *o, MPI_Request *r)
{
	MPI_Ireduce(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, r);
}

static void allreduce(struct operands *o)
{
	MPI_Allreduce(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void iallreduce(struct operands *o, MPI_Request *r)
{
	MPI_Iallreduce(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void gather(struct operands *o)
{
	MPI_Gather(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void igather(struct operands *o, MPI_Request *r)
{
	MPI_Igather(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, r);
}

static void scatter(struct operands *o)
{
	MPI_Scatter(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void iscatter(struct operands *o, MPI_Request *r)
{
	MPI_Iscatter(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, r);
}

static void allgather(struct operands *o)
{
	MPI_Allgather(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void iallgather(struct operands *o, MPI_Request *r)
{
	MPI_Iallgather(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, MPI_COMM_WORLD, r);
}

static void alltoall(struct operands *o)
{
	MPI_Alltoall(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void ialltoall(struct operands *o, MPI_Request *r)
{
	MPI_Ialltoall(o->out, o->bytes, MPI_BYTE, o->in, o->bytes, MPI_BYTE, MPI_COMM_WORLD, r);
}

static void scan(struct operands *o)
{
	MPI_Scan(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void iscan(struct operands *o, MPI_Request *r)
{
	MPI_Iscan(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void exscan(struct operands *o)
{
	MPI_Exscan(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void iexscan(struct operands *o, MPI_Request *r)
{
	MPI_Iexscan(o->out, o->in, o->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void reduce_scatter_block(struct operands *o)
{
	MPI_Reduce_scatter_block(o->out, o->in, o->share, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void ireduce_scatter_block(struct operands *o, MPI_Request *r)
{
	MPI_Ireduce_scatter_block(o->out, o->in, o->share, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void reduce_scatter(struct operands *o)
{
	MPI_Reduce_scatter(o->out, o->in, o->shares, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void ireduce_scatter(struct operands *o, MPI_Request *r)
{
	MPI_Ireduce_scatter(o->out, o->in, o->shares, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void gatherv(struct operands *o)
{
	MPI_Gatherv(o->out, o->bytes, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void igatherv(struct operands *o, MPI_Request *r)
{
	MPI_Igatherv(o->out, o->bytes, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, 0, MPI_COMM_WORLD, r);
}

static void scatterv(struct operands *o)
{
	MPI_Scatterv(o->out, o->counts, o->starts, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void iscatterv(struct operands *o, MPI_Request *r)
{
	MPI_Iscatterv(o->out, o->counts, o->starts, MPI_BYTE, o->in, o->bytes, MPI_BYTE, 0, MPI_COMM_WORLD, r);
}

static void allgatherv(struct operands *o)
{
	MPI_Allgatherv(o->out, o->bytes, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, MPI_COMM_WORLD);
}

static void iallgatherv(struct operands *o, MPI_Request *r)
{
	MPI_Iallgatherv(o->out, o->bytes, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, MPI_COMM_WORLD, r);
}

static void alltoallv(struct operands *o)
{
	MPI_Alltoallv(o->out, o->counts, o->starts, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, MPI_COMM_WORLD);
}

static void ialltoallv(struct operands *o, MPI_Request *r)
{
	MPI_Ialltoallv(o->out, o->counts, o->starts, MPI_BYTE, o->in, o->counts, o->starts, MPI_BYTE, MPI_COMM_WORLD, r);
}

const struct collective collectives[] = {
	{"barrier", 0, 0, barrier, ibarrier},
	{"bcast", 1, 0, bcast, ibcast},
	{"reduce", 1, 0, reduce, ireduce},
	{"allreduce", 1, 0, allreduce, iallreduce},
	{"gather", 1, 0, gather, igather},
	{"scatter", 1, 0, scatter, iscatter},
	{"allgather", 1, 0, allgather, iallgather},
	{"alltoall", 1, 0, alltoall, ialltoall},
	{"scan", 1, 0, scan, iscan},
	{"exscan", 1, 0, exscan, iexscan},
	{"reduce_scatter_block", 1, 0, reduce_scatter_block, ireduce_scatter_block},
	{"reduce_scatter", 1, 0, reduce_scatter, ireduce_scatter},
	{"gatherv", 1, 1, gatherv, igatherv},
	{"scatterv", 1, 1, scatterv, iscatterv},
	{"allgatherv", 1, 1, allgatherv, iallgatherv},
	{"alltoallv", 1, 1, alltoallv, ialltoallv},
	{NULL, 0, 0, NULL, NULL},
};
