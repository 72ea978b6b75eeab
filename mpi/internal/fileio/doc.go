// Package fileio is what package mpi does to files, as far as one rank can do it alone. It says
// where the bytes of a view lie in a file ([View]) and how an access moves them ([Access]). It also
// plans which rank does what in a collective access; the ranks carry out that plan ([Plan], [Runs],
// [Cover]).
//
// A collective access has two phases. The part of the file that it touches is divided among some of
// the ranks, the aggregators, in contiguous domains. The ranks send each aggregator what of their
// data lies in its domain, behind a list of where that belongs; the aggregator puts it in place in
// memory and writes what is covered, in few long pieces. Reading is the reverse. Domains are worked
// through in windows, so that no aggregator needs more memory than one of these.
//
// As every view is ascending, what a rank has in a window is one piece of its stream of data, and
// is found by search. Views whose data overlap, through which files are only read, are the
// exception: where a rank has one, each rank reads for itself ([Part]).
//
// Nothing here knows of messages, and all but the two methods of Access that are given a file is
// arithmetic.
package fileio
