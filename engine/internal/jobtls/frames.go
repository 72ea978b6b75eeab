package jobtls

// recordHead is what stands before each record: its type, two bytes of version, two of length.
const recordHead = 5

// frames is where in a stream of records the bytes so far end.
type frames struct {
	head int // bytes of the header of a record that have come
	left int // bytes that this record wants beyond those that have come, as far as its header is known
}

// take goes on by b.
func (f *frames) take(b []byte) {
	for len(b) > 0 {
		if f.head < recordHead {
			switch f.head {
			case 3:
				f.left = int(b[0]) << 8
			case 4:
				f.left |= int(b[0])
			}
			f.head++
			b = b[1:]
		} else {
			n := min(f.left, len(b))
			f.left -= n
			b = b[n:]
		}
		if f.head == recordHead && f.left == 0 {
			f.head = 0
		}
	}
}

func (f *frames) isPartial() bool { return f.head > 0 }
