package jobtls

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	caLabel = "FITMPI certificate authority"
	scheme  = "fitmpi"

	minSecret = 16 // bytes
)

// Certificates are good at any time: they live as long as their job, and the clocks of hosts
// differ.
var (
	notBefore = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	someTime  = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	notAfter  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Identity is what a rank shows the others and asks of them. It is safe for concurrent use.
type Identity struct {
	// Immutable after NewIdentity.
	job  string // in hexadecimal
	size int
	leaf tls.Certificate
	ca   *x509.CertPool
}

// NewIdentity makes the certificate of a rank. secret is the job's, at least 32 random bytes.
func NewIdentity(job [16]byte, secret []byte, rank, size int) (*Identity, error) {
	id := &Identity{job: hex.EncodeToString(job[:]), size: size, ca: x509.NewCertPool()}
	ca, key, err := authority(job, secret)
	if err != nil {
		return nil, err
	}
	id.ca.AddCert(ca)
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: fmt.Sprint("rank ", rank)},
		NotBefore: notBefore, NotAfter: notAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: scheme, Opaque: id.job + "/" + strconv.Itoa(rank)}},
	}, ca, pub, key)
	if err != nil {
		return nil, err
	}
	id.leaf = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: priv}
	return id, nil
}

// Name tells the identities of one rank apart: it is that of the job, in hexadecimal.
func (id *Identity) Name() string { return id.job }

// authority is the job's certificate authority, the same for every process that knows the secret.
func authority(job [16]byte, secret []byte) (*x509.Certificate, crypto.Signer, error) {
	if len(secret) < minSecret {
		return nil, nil, fmt.Errorf("secure: a secret of %d bytes; %d or more are needed", len(secret), minSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, job[:], caLabel, ed25519.SeedSize)
	if err != nil {
		return nil, nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "FitMPI job " + hex.EncodeToString(job[:])},
		NotBefore: notBefore, NotAfter: notAfter, KeyUsage: x509.KeyUsageCertSign,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key) // Ed25519 needs no randomness
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// config is for one connection; verified hears the rank that has proved itself. want is that rank,
// or -1 for any.
func (id *Identity) config(want int, verified func(rank int)) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.leaf}, ServerName: id.job,
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // of names and times: VerifyConnection verifies what there is to verify here
		VerifyConnection: func(s tls.ConnectionState) error {
			rank, err := id.verify(s.PeerCertificates)
			if err == nil && want >= 0 && rank != want {
				err = fmt.Errorf("it is rank %d, and rank %d was called", rank, want)
			}
			if err == nil {
				verified(rank)
			}
			return err
		},
		SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
	}
}

// verify checks the certificates of a peer and returns its rank.
func (id *Identity) verify(certs []*x509.Certificate) (rank int, err error) {
	leaf := certs[0] // there is one: crypto/tls refuses a server without, and, as config asks it to, a client
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: id.ca, CurrentTime: someTime, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return 0, fmt.Errorf("its certificate is not of this job: %w", err)
	}
	if len(leaf.URIs) != 1 || leaf.URIs[0].Scheme != scheme {
		return 0, errors.New("its certificate is of this job and names no rank")
	}
	job, number, _ := strings.Cut(leaf.URIs[0].Opaque, "/")
	rank, err = strconv.Atoi(number)
	if job != id.job || err != nil || rank < 0 || rank >= id.size {
		return 0, fmt.Errorf("its certificate is that of %q, want one of the %d ranks of %s", leaf.URIs[0].Opaque, id.size, id.job)
	}
	return rank, nil
}
