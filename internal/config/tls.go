package config

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TLSConfig returns the TLS configuration of the listener: TLS 1.2 or newer, with Go's defaults;
// nil if no certificate is configured. A certificate whose files have changed is reloaded at the
// next connection, at most once a minute. If the new files cannot be used, the old certificate
// stays in use, and a warning is logged. The error is a *fault.Fault, INVALID_PARAMETER, with the
// base name of the file.
//
// now is the clock by which the files are looked at again; log receives the warnings. A certificate
// that is replaced by a program for renewals is therefore used within a minute, without a restart.
func (c Config) TLSConfig(now func() time.Time, log *slog.Logger) (*tls.Config, error) {
	if c.TLS == (TLS{}) {
		return nil, nil //nolint:nilnil // there is nothing to serve with, and nothing wrong
	}
	k := &certReloader{files: c.TLS, now: now, log: log}
	if f := k.load(); f != nil {
		return nil, f
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: k.certificate}, nil
}

// reloadEvery is the time between two checks whether the files have changed.
const reloadEvery = time.Minute

// A certReloader reloads a certificate when its files change. It is safe for concurrent use. A
// failed reload keeps the certificate that is in use, because files are often replaced one after
// the other.
type certReloader struct {
	files TLS
	now   func() time.Time
	log   *slog.Logger

	current atomic.Pointer[tls.Certificate]

	looking   sync.Mutex
	looked    time.Time
	cert, key []byte // the files of current
}

// certificate returns the current certificate. At most one connection per reloadEvery waits for the
// disk; the others get the current certificate meanwhile. It never returns an error.
func (k *certReloader) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if k.looking.TryLock() {
		defer k.looking.Unlock()
		if k.now().Sub(k.looked) >= reloadEvery {
			if f := k.load(); f != nil {
				k.log.Warn("the certificate is not renewed", slog.String("reason", f.Message))
			}
		}
	}
	return k.current.Load(), nil
}

// load reads the files, and replaces the certificate if they have changed. It compares their
// contents, not their times. The caller holds looking, except before the first connection.
func (k *certReloader) load() *fault.Fault {
	k.looked = k.now()
	cert, f := readPEM("tls.cert", k.files.Cert)
	if f != nil {
		return f
	}
	key, f := readPEM("tls.key", k.files.Key)
	if f != nil {
		return f
	}
	if bytes.Equal(cert, k.cert) && bytes.Equal(key, k.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fault.New(fault.InvalidParameter,
			"tls: %s and %s are not a certificate and its key in PEM: %s", filepath.Base(k.files.Cert),
			filepath.Base(k.files.Key), strings.TrimPrefix(err.Error(), "tls: ")).Because(err)
	}
	k.cert, k.key = cert, key
	k.current.Store(&pair)
	return nil
}

// readPEM returns the text of a file. key is the name of the setting, for an error, which has the
// name of the file without its folder.
func readPEM(key, path string) ([]byte, *fault.Fault) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, withCause(fault.New(fault.InvalidParameter, "%s: %s cannot be read", key,
			filepath.Base(path)), err)
	}
	return text, nil
}
