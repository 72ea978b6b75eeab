//go:build amd64.v3

package vec

// fusedProducts: for these processors the compiler makes one instruction of a product and a sum,
// which rounds once. The plain loop for products of complex128 then has other bits than the kernel,
// which is not used.
const fusedProducts = true
