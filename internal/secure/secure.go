package secure

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"time"
)

// Timeout bounds a handshake: the other end is a process of the same job, which has nothing else to
// do.
const Timeout = 20 * time.Second

// MinSecret is the least number of bytes of a secret: 256 bits if they are random, and of 32 random
// letters in base64 192.
const MinSecret = 32

// ErrRefused means that the other end could not prove, or did not believe, that both have the same
// secret and role.
var ErrRefused = errors.New("the other end has another secret, or is not of this job")

// Client makes conn, which this process has dialled, an encrypted connection to a Server with the
// same secret and role. secret has MinSecret bytes or more. role says what the connection is for
// and must have no zero byte. Client takes conn over: after an error conn is closed. It waits for
// the other end, at most Timeout; a caller that wants to wait less closes conn. The error is
// ErrRefused, wrapped, if the secrets or the roles differ. The deadlines of the connection returned
// are clear.
func Client(conn net.Conn, secret []byte, role string) (net.Conn, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13,
		// The certificate says nothing: the proofs say what the other end is.
		InsecureSkipVerify: true,
	}
	return handshake(conn, tls.Client(conn, config), secret, role, clientProves)
}

// Server is the other end of Client, of a connection that this process has accepted.
func Server(conn net.Conn, secret []byte, role string) (net.Conn, error) {
	cert, err := newCertificate()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("secure: making a certificate: %w", err)
	}
	config := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{cert},
		SessionTicketsDisabled: true, // there is no second connection to resume
	}
	return handshake(conn, tls.Server(conn, config), secret, role, serverProves)
}

// handshake runs the TLS handshake and then prove, within Timeout.
func handshake(raw net.Conn, conn *tls.Conn, secret []byte, role string, prove func(io.ReadWriter, proofs) error) (net.Conn, error) {
	err := checkArguments(secret, role)
	if err == nil {
		err = raw.SetDeadline(time.Now().Add(Timeout))
	}
	if err == nil {
		err = conn.Handshake()
	}
	if err == nil {
		err = proveOver(conn, secret, role, prove)
	}
	if err == nil {
		err = raw.SetDeadline(time.Time{})
	}
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("secure: %w", err)
	}
	return conn, nil
}

func checkArguments(secret []byte, role string) error {
	switch {
	case len(secret) < MinSecret:
		return fmt.Errorf("a secret of %d bytes: need %d random bytes or more", len(secret), MinSecret)
	case role == "" || strings.ContainsRune(role, 0):
		return fmt.Errorf("role %q: need one, without zero bytes", role)
	}
	return nil
}

func proveOver(conn *tls.Conn, secret []byte, role string, prove func(io.ReadWriter, proofs) error) error {
	state := conn.ConnectionState()
	binding, err := state.ExportKeyingMaterial("EXPORTER-FITMPI1-secure", nil, sha256.Size)
	if err != nil {
		return err
	}
	return prove(conn, proofs{
		client: proof(secret, "FITMPI1 secure client", role, binding),
		server: proof(secret, "FITMPI1 secure server", role, binding),
	})
}

// proofs are what the ends of a connection send each other.
type proofs struct {
	client, server []byte // each sha256.Size bytes
}

func proof(secret []byte, label, role string, binding []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(label + "\x00" + role + "\x00")) // a hash never fails
	mac.Write(binding)
	return mac.Sum(nil)
}

func clientProves(conn io.ReadWriter, p proofs) error {
	if _, err := conn.Write(p.client); err != nil {
		return err
	}
	return wantProof(conn, p.server)
}

func serverProves(conn io.ReadWriter, p proofs) error {
	if err := wantProof(conn, p.client); err != nil {
		return err
	}
	_, err := conn.Write(p.server)
	return err
}

// wantProof reads a proof and compares it. An end that does not believe ours hangs up instead of
// answering.
func wantProof(conn io.Reader, want []byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		if isTimeout(err) {
			return err
		}
		return fmt.Errorf("%w (%w)", ErrRefused, err)
	}
	if !hmac.Equal(got, want) {
		return ErrRefused
	}
	return nil
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// newCertificate makes a key pair, and a certificate of it that is signed with it. TLS wants a
// certificate; neither end looks at what it says.
func newCertificate() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}
