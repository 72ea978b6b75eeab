module github.com/fitmpi/fitmpi/ci/tools

go 1.26.0

tool golang.org/x/vuln/cmd/govulncheck

require github.com/google/licensecheck v0.3.1

require (
	golang.org/x/mod v0.35.0 // indirect
	golang.org/x/sync v0.20.0 // indirect
	golang.org/x/sys v0.43.0 // indirect
	golang.org/x/telemetry v0.0.0-20260421165255-392afab6f40e // indirect
	golang.org/x/tools v0.44.0 // indirect
	golang.org/x/vuln v1.3.0 // indirect
)
