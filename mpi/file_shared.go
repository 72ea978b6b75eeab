//go:build linux

package mpi

// FileReadShared reads buf from the shared file pointer on, which has been moved behind it before
// any other rank uses it, by all that buf has room for. All ranks need one view. It blocks until it
// has read, but does not wait for other ranks to call it. At the end of the file Status.Count is
// how many elements there were (MPI 4.1, section 14.4.4, MPI_File_read_shared).
//
// The pointer is kept in a hidden file beside the file, until Close: the directory must be
// writable, and its file system have locks.
func FileReadShared[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileReadShared", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileReadShared", fileShared, 0, buf).wait()
}

// FileWriteShared writes buf from the shared file pointer on, as FileReadShared reads. What ranks
// write so lies in the file in some order, without gaps (MPI 4.1, section 14.4.4,
// MPI_File_write_shared).
func FileWriteShared[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWriteShared", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWriteShared", fileShared|fileWrites, 0, buf).wait()
}

// FileIreadShared starts a FileReadShared: the shared file pointer has moved when it returns (MPI
// 4.1, section 14.4.4, MPI_File_iread_shared).
func FileIreadShared[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIreadShared", buf, false).started(accessOf(f, "FileIreadShared", fileShared, 0, buf).started())
}

// FileIwriteShared starts a FileWriteShared: the shared file pointer has moved when it returns
// (MPI 4.1, section 14.4.4, MPI_File_iwrite_shared).
func FileIwriteShared[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwriteShared", buf, true).started(accessOf(f, "FileIwriteShared", fileShared|fileWrites, 0, buf).started())
}

// FileReadOrdered is FileReadShared of all ranks, in the order of their ranks: each reads behind
// what the ranks before it read. Collective, blocks (MPI 4.1, section 14.4.4,
// MPI_File_read_ordered).
func FileReadOrdered[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileReadOrdered", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileReadOrdered", fileShared|fileAll, 0, buf).wait()
}

// FileWriteOrdered is FileWriteShared of all ranks, in the order of their ranks: each writes behind
// what the ranks before it write. Collective, blocks (MPI 4.1, section 14.4.4,
// MPI_File_write_ordered).
func FileWriteOrdered[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWriteOrdered", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWriteOrdered", fileShared|fileAll|fileWrites, 0, buf).wait()
}
