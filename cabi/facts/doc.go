// Package facts is the table of what MPI 5.0 says about its interface in C: each procedure of the
// standard ABI with its arguments, each type, and each constant with its value. Load reads it. The
// header mpi.h, the list of procedures and the coverage list are generated from it, and so is what
// else would otherwise be written once for each of 664 functions.
//
// The table is in the directory table, a file for each chapter of the standard that has procedures,
// and some for types and constants. A line is a statement, an indented line belongs to the
// statement above it, and # starts a comment. Fields are separated by spaces. Options are fields of
// the form key=value or key, after all others.
//
//	chapter NUMBER TITLE
//	proc NAME since=VERSION [large[=VERSION]] [deprecated=VERSION] [returns=KIND] [anytime] [starts]
//	  in|out|inout NAME KIND [OPTION...]
//	callback NAME [large] [deprecated=VERSION] returns=KIND
//	  in|out|inout NAME KIND [OPTION...]
//	alias NAME CALLBACK
//	kind NAME CLASS [C-TYPE [large=C-TYPE]]
//	integer NAME C-TYPE
//	struct NAME
//	  C-TYPE FIELD [LENGTH]
//	handle NAME TAG [FIRST LAST]
//	constants enum|macro|handle|cast C-TYPE TITLE
//	  NAME VALUE [deprecated=VERSION]
//	values KIND one|bits CONSTANT...
//
// # Procedures
//
// The names are those of C, without the PMPI_ twins, which all have. A procedure returns an error
// code if returns does not name another kind; none is void. With large it has a twin for large
// counts, with _c at the end of its name, since MPI 4.0 or since the version that is given;
// arguments of a kind that has a large type have that type there. The procedure may be called at
// any time, before MPI is initialized and after it is finalized (anytime; section 11.4.1), or it
// initializes MPI itself (starts), or neither.
//
// The direction is in for what is read, out for what is written and inout for what is both. Options
// of an argument:
//
//   - len=LENGTH: an array, or a string, of so many entries. Factors are separated by *; each is a
//     number, a constant, an argument, an argument plus a number, or a function of one argument:
//     ranks(comm), the size of its group; peers(comm), that of its remote group if it has one;
//     indegree(comm), outdegree(comm) and dims(comm), of its topology; sum(array) of all entries
//     and last(array), the last of them. An array of length null ends with an entry that is NULL.
//     Strings that come in have no length: they end with a zero byte.
//   - of=EXTENT: what a buffer holds: elements, whose count and datatype are arguments, or bytes.
//     In a collective that is one block, of which there may be one for each rank. Where
//     MPI_IN_PLACE is the buffer, those arguments do not matter.
//   - or=NAMES: constants that may stand in its place, separated by commas; NULL is that of C.
//     Where a constant comes out it is in the list too.
//   - fn=CALLBACK: the type of a function.
//   - root: it matters at the root alone.
//   - kept: the library uses the memory after the call has returned.
//   - only=large: the argument is in the large twin alone.
//   - plain: the binding has no const, though the argument only comes in.
//   - byref: a callback gets its address, though it only comes in.
//
// # Kinds
//
// The kind of an argument says what it means, and its class how C passes it:
//
//   - handle, integer, real: a value; out and inout its address. Arrays that come in are const.
//   - status: always an address; const if it comes in.
//   - buffer, string: the address of memory; const if it comes in.
//   - word: a void* in every direction.
//   - strings: char pointers; never const.
//   - function: the address of a function of the type that fn names.
//   - varargs: the dots.
//
// # Constants
//
// An enum is of type int or of an enumeration of its own; a macro is an integer that the
// preprocessor knows; a handle and a cast are an integer cast to the type. A value is a number, or
// the name of the constant that it is the same as.
//
// # Other libraries
//
// values says which constants an argument of a kind may be, besides numbers that mean what they are
// (one), or is made of (bits). The directory dialects has a file for each library whose interface
// has other numbers for them: type Dialect explains it.
package facts
