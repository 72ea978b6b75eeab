//go:build !linux || fitmpi_portable

package names

import (
	"context"
	"errors"
)

// directory is names as files, which there are on Linux only: ports, whose names they keep, are for
// processes that reach each other.
type directory struct{}

var errNeedsLinux = errors.New("names of ports are kept on Linux only: here no process reaches another")

// Publish implements Store: it fails.
func (d *directory) Publish(context.Context, string, string) error { return errNeedsLinux }

// Lookup implements Store: it fails.
func (d *directory) Lookup(context.Context, string) (string, error) { return "", errNeedsLinux }

// Unpublish implements Store: it fails.
func (d *directory) Unpublish(context.Context, string) error { return errNeedsLinux }
