package config_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/config"
)

// write writes a certificate with a serial number, and its key.
func write(t *testing.T, files config.TLS, serial int64) {
	t.Helper()
	cert, key := certificate(t, serial)
	require.NoError(t, os.WriteFile(files.Cert, cert, 0o600))
	require.NoError(t, os.WriteFile(files.Key, key, 0o600))
}

// certificate returns a self-signed certificate for localhost, and its key.
func certificate(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// A clock returns the time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A journal records a log.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// take returns the log since its last call.
func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return j.text.String()
}

// A listener is a TLS server of a configuration with the clock of a test.
type listener struct {
	*clock
	files config.TLS
	addr  string
	log   *journal
}

// listen serves with a certificate of serial number 1.
func listen(t *testing.T) *listener {
	t.Helper()
	dir := t.TempDir()
	l := &listener{
		clock: &clock{at: time.Now()}, log: &journal{},
		files: config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")},
	}
	write(t, l.files, 1)
	conf, err := config.Config{TLS: l.files}.TLSConfig(l.now, slog.New(slog.NewTextHandler(l.log, nil)))
	require.NoError(t, err)
	on, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.addr = on.Addr().String()
	s := &http.Server{
		TLSConfig: conf, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(
			slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeTLS(on, "", "") // it ends when it is closed
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return l
}

// serial returns the serial number of the certificate of a new connection.
func (l *listener) serial(t *testing.T) int64 {
	t.Helper()
	serial, err := l.dial()
	require.NoError(t, err)
	return serial
}

func (l *listener) dial() (int64, error) {
	c, err := tls.Dial("tcp", l.addr, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// TestRenewal checks that a certificate which changes in its files is used within a minute, and
// that invalid files are never used.
func TestRenewal(t *testing.T) {
	l := listen(t)
	require.EqualValues(t, 1, l.serial(t))
	write(t, l.files, 2)
	require.EqualValues(t, 1, l.serial(t), "nobody looks twice a minute")
	l.pass(time.Minute)
	require.EqualValues(t, 2, l.serial(t))

	good, err := os.ReadFile(l.files.Cert)
	require.NoError(t, err)
	other, _ := certificate(t, 3)
	for name, text := range map[string][]byte{
		"no PEM": []byte("hushhush"), "nothing": {}, "half": good[:len(good)/2], "of another key": other,
	} {
		l.pass(time.Minute)
		require.NoError(t, os.WriteFile(l.files.Cert, text, 0o600))
		require.EqualValues(t, 2, l.serial(t), name)
		told := l.log.take()
		require.Contains(t, told, "the certificate is not renewed", name)
		require.Contains(t, told, "cert.pem", name)
		require.NotContains(t, told, filepath.Dir(l.files.Cert), name)
		require.NotContains(t, told, "hushhush", name)
	}
	l.pass(time.Minute)
	require.NoError(t, os.Remove(l.files.Key))
	require.EqualValues(t, 2, l.serial(t))
	told := l.log.take()
	require.Contains(t, told, "key.pem cannot be read")
	require.NotContains(t, told, filepath.Dir(l.files.Cert))

	write(t, l.files, 4)
	l.pass(time.Minute)
	require.EqualValues(t, 4, l.serial(t))
}

// TestManyConnections checks that a renewal does not disturb concurrent connections.
func TestManyConnections(t *testing.T) {
	l := listen(t)
	write(t, l.files, 2)
	l.pass(time.Minute)
	var all sync.WaitGroup
	serials, errs := make([]int64, 16), make([]error, 16)
	for i := range serials {
		all.Go(func() { serials[i], errs[i] = l.dial() })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Subset(t, []int64{1, 2}, serials)
	require.EqualValues(t, 2, l.serial(t))
}

// TestVersions checks that TLS 1.2 is the oldest accepted version, and that HTTP/2 is served.
func TestVersions(t *testing.T) {
	l := listen(t)
	for version, ok := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		c, err := tls.Dial("tcp", l.addr, &tls.Config{
			InsecureSkipVerify: true, MinVersion: version, MaxVersion: version, //nolint:gosec // a test's
		})
		require.Equal(t, ok, err == nil, "%x", version)
		if ok {
			require.NoError(t, c.Close())
		}
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test's
		ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + l.addr)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 2, resp.ProtoMajor)
}

// TestNoTLS checks a configuration without TLS, and the errors for files that are not certificates.
func TestNoTLS(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	conf, err := config.Config{}.TLSConfig(time.Now, log)
	require.NoError(t, err)
	require.Nil(t, conf)

	dir := t.TempDir()
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	tell := func() string {
		_, err := config.Config{TLS: files}.TLSConfig(time.Now, log)
		require.Error(t, err)
		all := problems(t, err)
		require.Len(t, all, 1)
		require.NotContains(t, all[0], dir)
		return all[0]
	}
	require.Equal(t, "tls.cert: cert.pem cannot be read: no such file or directory", tell())
	cert, key := certificate(t, 1)
	require.NoError(t, os.WriteFile(files.Cert, cert, 0o600))
	require.Equal(t, "tls.key: key.pem cannot be read: no such file or directory", tell())
	_, other := certificate(t, 2)
	for _, text := range [][]byte{other, cert, nil, key[:40]} {
		require.NoError(t, os.WriteFile(files.Key, text, 0o600))
		require.Contains(t, tell(), "tls: cert.pem and key.pem are not a certificate and its key in PEM: ")
	}
}
