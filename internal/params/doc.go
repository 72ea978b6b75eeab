// Package params is the table of all environment variables of FitMPI: what each is for, which
// values it takes, what holds without it, and what reads it. Ranks take their configuration by
// going over the table, and fitrun --print-config prints it. docs/CONFIG.md is made of it (go test
// ./internal/params -update). Ranks and fitrun warn of variables that look like ours and are not in
// the table.
//
// A new variable is a line of [All]. For one that ranks read, package mpi must also say how it is
// taken: a test says so.
package params
