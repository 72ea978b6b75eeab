package shm

import (
	"crypto/rand"
	"os"
)

// Loan says where a process of this host finds a file that another has made with Lend, and how it
// knows that it is that one.
type Loan struct {
	PID, FD int    // of the lender, as it knows them
	Name    string // that no other file of this host has
}

// Lend makes a file as CreateFile does, which processes of the same user may open by Borrow as long
// as the caller keeps it open. kind begins its name, which is for users that look into /proc.
func Lend(kind string, size int64) (*os.File, Loan, error) {
	name := kind + "-" + rand.Text()
	f, err := CreateFile(name, size)
	if err != nil {
		return nil, Loan{}, err
	}
	return f, Loan{os.Getpid(), int(f.Fd()), name}, nil
}
