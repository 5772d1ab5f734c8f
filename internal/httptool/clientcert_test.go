package httptool_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// certified returns a server on loopback with its own certificate, and a client that trusts it.
func certified(t *testing.T, change func(*x509.Certificate)) (*httptest.Server, *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(c)
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	made, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(made)
	return s, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

// TestCertificates checks the messages and fixes for invalid certificates: from an unknown CA, for
// another name, expired, and not valid yet.
func TestCertificates(t *testing.T) {
	same := func(*x509.Certificate) {}
	for name, c := range map[string]struct {
		change    func(*x509.Certificate)
		stranger  bool
		said, fix string
	}{
		"a CA of one's own": {same, true, "of a CA that this machine does not trust", "SSL_CERT_FILE=ca.pem rookery"},
		"another name": {func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = nil, []string{"other.example.test"}
		}, false, "is for another name", "the name that its certificate has"},
		"expired": {func(c *x509.Certificate) {
			c.NotAfter = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			c.NotBefore = c.NotAfter.Add(-time.Hour)
		}, false, "expired at 2020-01-02T03:04:05Z", "renew it"},
		"not good yet": {func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(time.Hour)
			c.NotAfter = c.NotBefore.Add(time.Hour)
		}, false, "is valid from", "the clock of this machine"},
		"for no server": {func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
		}, false, "does not prove the identity of the server", "check the address"},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := certified(t, c.change)
			if c.stranger {
				client = nil
			}
			_, err := (&httptool.Client{Base: s.URL, HTTP: client, Token: canary}).Invoke(t.Context(), "x", nil)
			f := fault.Of(err)
			require.Equal(t, fault.Unavailable, f.Code)
			require.Contains(t, f.Message, s.Listener.Addr().String())
			require.Contains(t, f.Message, c.said)
			require.NotEmpty(t, f.Fixes)
			require.Contains(t, f.Fixes[0], c.fix)
		})
	}
}
