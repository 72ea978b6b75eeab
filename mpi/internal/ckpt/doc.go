// Package ckpt keeps the checkpoints of a job in plain files of a directory. It knows nothing of
// MPI: its callers, the ranks of a job, agree among themselves on the order.
//
// A checkpoint has a version, a number that grows. It consists of one part of each rank and of a
// mark:
//
//	v42.rank0    what rank 0 has written, between a header that says what it is and a trailer with length and checksum
//	v42.mark     the length and the checksum of every part, and a checksum of its own
//
// # When a checkpoint counts
//
// A checkpoint is there when its mark is. One rank writes the mark, when every rank has said that
// its part is on the disk. Each file is written under another name (behind which stands ".new"),
// synchronised, and renamed, and the directory is synchronised after that: so a file under its name
// is whole, even if the machine loses its power. What has no mark is torn, and removed by
// [Dir.Clean]. Older checkpoints are removed when the new one is there, not before.
//
// # What is found
//
// A mark holds the checksums (CRC-64, ECMA) of the parts, and each save has a random number in all
// of its files. Any byte that has changed is an error when it is read. So is a part that was cut,
// has grown, or is another save's or another rank's. A checksum is no signature: it finds what
// disks do, but not what users do that may write the files.
//
// Files are the user's alone (0600), and so is a directory that had to be made (0700).
package ckpt
