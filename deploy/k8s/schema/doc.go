// Package schema validates the manifests of deploy/k8s against the schemas of Kubernetes and of the
// Kubeflow MPI operator. It is a module of its own: the validator is built with another version of
// the types of Kubernetes than the other tests.
package schema
