//go:build linux

package mpi

// FileRead reads buf from the file pointer of this rank on, and moves that behind what it has read.
// It blocks until that is done. At the end of the file it reads less: Status.Count is how many
// elements it has read (MPI 4.1, section 14.4.3, MPI_File_read).
func FileRead[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileRead", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileRead", 0, 0, buf).wait()
}

// FileWrite writes buf from the file pointer of this rank on, and moves that behind it. It blocks
// until buf may be used again (MPI 4.1, section 14.4.3, MPI_File_write).
func FileWrite[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWrite", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWrite", fileWrites, 0, buf).wait()
}

// FileReadAll is FileRead of all ranks, each from its own file pointer on; else as FileReadAtAll.
// Collective, blocks (MPI 4.1, section 14.4.3, MPI_File_read_all).
func FileReadAll[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileReadAll", buf, false).endStatus(&st, &outcome)
	return accessOf(f, "FileReadAll", fileAll, 0, buf).wait()
}

// FileWriteAll is FileWrite of all ranks, each from its own file pointer on; else as
// FileWriteAtAll. Collective, blocks (MPI 4.1, section 14.4.3, MPI_File_write_all).
func FileWriteAll[T any](f *File, buf []T) (st Status, outcome error) {
	defer beginFile(f, "FileWriteAll", buf, true).endStatus(&st, &outcome)
	return accessOf(f, "FileWriteAll", fileAll|fileWrites, 0, buf).wait()
}

// FileIread starts a FileRead and returns. The file pointer moves at once, by all that buf has room
// for, and stays there even if the file has less (MPI 4.1, section 14.4.3, MPI_File_iread).
func FileIread[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIread", buf, false).started(accessOf(f, "FileIread", 0, 0, buf).started())
}

// FileIwrite starts a FileWrite, and moves the file pointer at once (MPI 4.1, section 14.4.3,
// MPI_File_iwrite).
func FileIwrite[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwrite", buf, true).started(accessOf(f, "FileIwrite", fileWrites, 0, buf).started())
}

// FileIreadAll starts a FileReadAll, and moves the file pointer at once, as FileIread does.
// Collective (MPI 4.1, section 14.4.3, MPI_File_iread_all).
func FileIreadAll[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIreadAll", buf, false).started(accessOf(f, "FileIreadAll", fileAll, 0, buf).started())
}

// FileIwriteAll starts a FileWriteAll, and moves the file pointer at once. Collective (MPI 4.1,
// section 14.4.3, MPI_File_iwrite_all).
func FileIwriteAll[T any](f *File, buf []T) *Request {
	return beginFile(f, "FileIwriteAll", buf, true).started(accessOf(f, "FileIwriteAll", fileAll|fileWrites, 0, buf).started())
}
