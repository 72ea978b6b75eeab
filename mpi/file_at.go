//go:build linux

package mpi

// FileReadAt reads buf from offset on, in etypes of the view, whatever the file pointers are, and
// blocks until that is done. At the end of the file it reads less: Status.Count is how many
// elements it has read (MPI 4.1, section 14.4.2, MPI_File_read_at). See [File] for what a buffer
// may be. An offset that is negative is an error of class [ErrArg].
func FileReadAt[T any](f *File, offset int, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileReadAt", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileReadAt", fileAt, offset, buf).wait()
}

// FileWriteAt writes buf from offset on, in etypes of the view, and blocks until buf may be used
// again: the file may be written to the disk later, by Sync or Close. The file grows as needed. If
// it fails Status.Count is how many elements were written before (MPI 4.1, section 14.4.2,
// MPI_File_write_at).
func FileWriteAt[T any](f *File, offset int, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWriteAt", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWriteAt", fileAt|fileWrites, offset, buf).wait()
}

// FileReadAtAll is FileReadAt of all ranks, each with an offset and a buffer of its own, or an
// empty one. Where their data interleave in the file, they are read in long pieces by some ranks
// for all. Collective, blocks (MPI 4.1, section 14.4.2, MPI_File_read_at_all).
func FileReadAtAll[T any](f *File, offset int, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileReadAtAll", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileReadAtAll", fileAt|fileAll, offset, buf).wait()
}

// FileWriteAtAll is FileWriteAt of all ranks, as FileReadAtAll is FileReadAt. Where data of ranks
// overlap, it is not known which remain unless the file is in atomic mode. If they are put together
// and the disk fails, all ranks have the error (MPI 4.1, section 14.4.2, MPI_File_write_at_all).
// Collective, blocks.
func FileWriteAtAll[T any](f *File, offset int, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWriteAtAll", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWriteAtAll", fileAt|fileAll|fileWrites, offset, buf).wait()
}

// FileIreadAt starts a FileReadAt and returns. buf belongs to the request until it is complete, by
// Wait or one of its family, beside requests of messages. It cannot be cancelled (MPI 4.1, section
// 14.4.2, MPI_File_iread_at).
func FileIreadAt[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIreadAt", buf, false).started(accessOf(f, "FileIreadAt", fileAt, offset, buf).started())
}

// FileIwriteAt starts a FileWriteAt (MPI 4.1, section 14.4.2, MPI_File_iwrite_at).
func FileIwriteAt[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIwriteAt", buf, true).started(accessOf(f, "FileIwriteAt", fileAt|fileWrites, offset, buf).started())
}

// FileIreadAtAll starts a FileReadAtAll. Collective operations of a file take place in the order in
// which they are called, which must be the same at all ranks (MPI 4.1, section 14.4.2,
// MPI_File_iread_at_all).
func FileIreadAtAll[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIreadAtAll", buf, false).started(accessOf(f, "FileIreadAtAll", fileAt|fileAll, offset, buf).started())
}

// FileIwriteAtAll starts a FileWriteAtAll (MPI 4.1, section 14.4.2, MPI_File_iwrite_at_all).
func FileIwriteAtAll[T any](f *File, offset int, buf []T) *Request {
	return beginFile(f, "FileIwriteAtAll", buf, true).started(accessOf(f, "FileIwriteAtAll", fileAt|fileAll|fileWrites, offset, buf).started())
}
