// Package hosts says on which machines the ranks of a job run: it reads lists of hosts (the option
// -H, host files in the forms of Open MPI and Hydra, what Slurm and PBS have allocated) and divides
// ranks among them.
//
// It knows nothing of how a host is reached, and asks nothing of this machine: what it reads is
// given to it.
package hosts
