package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/web"
	"github.com/fitmpi/fitmpi/internal/httpguard"
)

// webPart is the live page of --web.
type webPart struct {
	server *web.Server
	err    error // why it was not served to the end; owned by run, then by after
}

// webParts listens, and says where the page is. What comes before the job begins is answered then.
func (o *options) webParts(v *view.View, stderr io.Writer) ([]part, error) {
	if o.web == "" {
		return nil, nil
	}
	file, open := o.httpGuard()
	cfg := web.Config{Addr: o.web, Open: open, Explain: func(ctx context.Context) (string, error) { return explain(ctx, v) }}
	var err error
	if file != "" {
		if cfg.Secret, err = httpguard.ReadSecret(file); err != nil {
			return nil, fmt.Errorf("--web %s: %w", o.web, err)
		}
	}
	s, err := web.Listen(cfg)
	if err != nil {
		return nil, fmt.Errorf("--web %s: %w", o.web, err)
	}
	fmt.Fprintf(launch.Folded(stderr), "fitrun: live page at %s\n", s.URL())
	return []part{&webPart{server: s}}, nil
}

func (p *webPart) run(ctx context.Context, v *view.View) { p.err = p.server.Run(ctx, v) }

// Close is called if the job is not run.
func (p *webPart) Close() error { return p.server.Close() }

func (p *webPart) after(_ *view.View, stderr io.Writer) {
	if p.err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: the live page: %v\n", p.err)
	}
}

// hostPort accepts HOST:PORT and :PORT, where PORT is a number.
func hostPort(field *string, example string) setter {
	return func(name, value string) error {
		_, port, err := net.SplitHostPort(value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("%s %s: want HOST:PORT or :PORT, for example %s %s", name, value, name, example)
		}
		*field = value
		return nil
	}
}

// setHTTPAuth takes the name of a file; ranks have other working directories.
func (o *options) setHTTPAuth(name, value string) (err error) {
	if value == "" {
		return fmt.Errorf("%s: want a file, for example %s ~/.fitmpi-http", name, name)
	}
	o.httpAuth, err = filepath.Abs(value)
	return err
}

// httpGuard says which clients may ask fitrun's servers: the file of a secret that they must know,
// "" for none, and whether every client may, by the options or by the variables that ranks read.
func (o *options) httpGuard() (file string, open bool) {
	return cmp.Or(o.httpAuth, os.Getenv("FITMPI_HTTP_AUTH")), o.httpOpen || os.Getenv("FITMPI_HTTP_OPEN") == "1"
}
