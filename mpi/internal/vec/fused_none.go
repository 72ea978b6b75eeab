//go:build amd64 && !amd64.v3

package vec

const fusedProducts = false
