/* Conversions of a status. */
static inline void status_read(struct fit_status *to, const MPI_Status *from)
{
    to->source = rank_in(from->MPI_SOURCE);
    to->tag = tag_in(from->MPI_TAG);
    to->error = fit_error_in(from->MPI_ERROR);
    to->internal[0] = (int)from->_ucount;
    to->internal[1] = (int)((uint64_t)from->_ucount >> 32);
    to->internal[2] = from->_cancelled;
    to->internal[3] = to->internal[4] = 0;
}

static inline void status_write(MPI_Status *to, const struct fit_status *from)
{
    to->MPI_SOURCE = rank_out(from->source);
    to->MPI_TAG = tag_out(from->tag);
    to->MPI_ERROR = error_out(from->error);
    to->_cancelled = from->internal[2] != 0;
    to->_ucount = (uint32_t)from->internal[0] | (uint64_t)(uint32_t)from->internal[1] << 32;
}
