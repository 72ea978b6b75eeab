// Package hosts says on which machines the ranks of a job run. It reads lists of hosts and divides
// ranks among them. Lists come from the option -H, from host files in the forms of Open MPI and
// Hydra, and from what Slurm and PBS have allocated.
//
// It knows nothing of how a host is reached, and asks nothing of this machine: what it reads is
// given to it.
package hosts
