package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/fitmpi/fitmpi/mpi"
)

const (
	tagPieces = 1

	piecesPerRank = 4        // several, so that shares come out even
	minPiece      = 64 << 10 // bytes; smaller ones are not worth a file to open
)

// piece is a part of a file: the words that begin in [From, To), give or take what lies between
// both and the next white space. Its fields are exported because it travels between ranks.
type piece struct {
	File     string
	From, To int64
	Size     int64 // of the whole file
}

// share says what there is to count. Rank 0 has it.
type share struct {
	files  int
	bytes  int64
	pieces int
}

// deal gives each rank its pieces.
func deal(world *mpi.Comm, o options) (sh share, mine []piece, err error) {
	if world.Rank() != 0 {
		mine, _, err = mpi.RecvValue[[]piece](world, 0, tagPieces)
		return sh, mine, err
	}
	whole, err := survey(o.files)
	if err != nil {
		return sh, nil, err
	}
	for _, f := range whole {
		sh.bytes += f.Size
	}
	size := o.piece
	if size == 0 {
		size = max(minPiece, sh.bytes/int64(piecesPerRank*world.Size()))
	}
	pieces := cut(whole, size)
	sh.files, sh.pieces = len(whole), len(pieces)
	hands := dealOut(pieces, world.Size())
	for r := 1; r < world.Size(); r++ {
		if err := mpi.SendValue(world, hands[r], r, tagPieces); err != nil {
			return sh, nil, err
		}
	}
	return sh, hands[0], nil
}

// survey looks at the files. The error names all that cannot be counted.
func survey(names []string) (whole []piece, err error) {
	var errs []error
	for _, name := range names {
		size, err := sizeOf(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("wordcount: %w", err))
		}
		whole = append(whole, piece{File: name, To: size, Size: size})
	}
	return whole, errors.Join(errs...)
}

func sizeOf(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case st.IsDir():
		return 0, fmt.Errorf("%s is a directory: name the files in it, such as %[1]s/*", name)
	case !st.Mode().IsRegular():
		return 0, fmt.Errorf("%s is no regular file: only those can be cut into pieces", name)
	}
	return st.Size(), nil
}

// cut cuts files into pieces of at most size bytes.
func cut(whole []piece, size int64) []piece {
	var ps []piece
	for _, f := range whole {
		for from := int64(0); from < f.Size; from += min(size, f.Size-from) {
			ps = append(ps, piece{File: f.File, From: from, To: from + min(size, f.Size-from), Size: f.Size})
		}
	}
	return ps
}

// dealOut gives each piece, the largest first, to the rank that has the fewest bytes so far.
func dealOut(pieces []piece, ranks int) [][]piece {
	length := func(p piece) int64 { return p.To - p.From }
	pieces = slices.Clone(pieces)
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(length(b), length(a)) })
	hands, load := make([][]piece, ranks), make([]int64, ranks)
	for _, p := range pieces {
		r := slices.Index(load, slices.Min(load))
		hands[r] = append(hands[r], p)
		load[r] += length(p)
	}
	return hands
}
