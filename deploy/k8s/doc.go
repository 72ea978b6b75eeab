// Package k8s holds manifests for Kubernetes, and tests that decode them as the API server does.
// See README.md.
package k8s
