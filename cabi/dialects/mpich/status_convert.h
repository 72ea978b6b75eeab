/* Conversions of a status. */
static inline void status_read(struct fit_status *to, const MPI_Status *from)
{
    to->source = rank_in(from->MPI_SOURCE);
    to->tag = tag_in(from->MPI_TAG);
    to->error = fit_error_in(from->MPI_ERROR);
    to->internal[0] = from->count_lo;
    to->internal[1] = (int)((unsigned)from->count_hi_and_cancelled >> 1);
    to->internal[2] = from->count_hi_and_cancelled & 1;
    to->internal[3] = to->internal[4] = 0;
}

static inline void status_write(MPI_Status *to, const struct fit_status *from)
{
    to->MPI_SOURCE = rank_out(from->source);
    to->MPI_TAG = tag_out(from->tag);
    to->MPI_ERROR = error_out(from->error);
    to->count_lo = from->internal[0];
    to->count_hi_and_cancelled = (int)((unsigned)from->internal[1] << 1 | (from->internal[2] != 0));
}
