// Package params is the table of all environment variables of FitMPI: what each is for, which values it takes, what holds
// without it, and who reads it. Ranks take their configuration by going over it, fitrun --print-config prints it,
// docs/CONFIG.md is made of it (go test ./internal/params -update), and both warn of variables that look like ours and are not in it.
//
// A new variable is a line of [All]. For one that ranks read, package mpi must also say how it is taken: a test says so.
package params
