// Package tests is the suite of the stand-in.
package tests
