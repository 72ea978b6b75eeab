package boot

import "os"

const (
	maxFDs     = 4          // descriptors that one line may name
	maxPending = 2 * maxFDs // received and not yet claimed: at most those of two lines, as each read ends behind the bytes that brought some
)

// Names of the descriptors that travel.
const (
	fdSegment = "segment"
	fdBell    = "bell"
	fdTrace   = "trace"
)

// closeFiles closes those that are not nil.
func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
