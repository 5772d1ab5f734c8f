// Package config reads the configuration of a server: a YAML file and the environment, which takes
// precedence (CONTRACT §7). It is strict: an unknown key or an implausible value is an error with
// its place and, if possible, a fix.
//
// A file has keys like these, and every key is optional:
//
//	listen: 0.0.0.0:7780
//	data: /var/lib/rookery
//	public_url: https://notes.example.com
//	tls: { cert: cert.pem, key: key.pem }
//	issuers:
//	- issuer: https://login.example.com
//	tenant_claim: org
//	roles_claim: rookery_roles
//	first_admin:
//	- { issuer: https://login.example.com, subject: freya, tenant: acme }
//	limits: { mutations_per_minute: 60, reads_per_minute: 600 }
//	memory: 2GiB
//
// A scalar key can also be set by a variable: limits.reads_per_minute by
// ROOKERY_LIMITS_READS_PER_MINUTE. A list or a mapping in a variable is YAML, or texts separated by
// commas.
//
// The package has three layers. reader.go and value.go read YAML strictly and know the position of
// each value. field.go lists the keys and the fields of a Config that they set. check.go, issuer.go
// and url.go check values that depend on each other. listen.go and tls.go answer questions about a
// loaded Config. Nothing is contacted, and only the file itself and the certificate are read.
package config

import (
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A Config is the configuration of a server. Load has checked it: URLs, networks and names are
// valid, and missing values have their defaults. The zero Config is that of a server on loopback
// without authentication, but its Limits are not set. A Config is not changed after it was loaded.
type Config struct {
	Listen         string // HOST:PORT; empty if it is not set
	Data           string // the data directory; empty if it is not set
	PublicURL      string // only scheme, host and port, without a slash at the end; empty: none
	TLS            TLS
	TrustedProxies []netip.Prefix // of proxies whose X-Forwarded-Proto is trusted
	Issuers        []Issuer       // the first one that matches a token counts
	FirstAdmins    []Admin        // at most one for each tenant
	Limits         Limits
	ReadOnly       bool
	MetricsListen  string   // HOST:PORT on loopback or in a private network; empty: no metrics
	CORSOrigins    []string // scheme://host[:port] of pages that may call; empty: none
	MaxCalls       int      // largest number of calls that run at once
	Memory         Size     // of all open vaults together; 0 if it is not set
	MaxConnections int      // largest number of open connections; less if the process may open fewer files
}

// A TLS contains the paths of the certificate, with its chain, and of its key: both, or neither.
type TLS struct{ Cert, Key string }

// A Limits contains the rates of one agent, and the size of a vault (CONTRACT §9). A rate is the
// number of calls that an agent may make in a minute.
type Limits struct {
	MutationsPerMinute, ReadsPerMinute int

	VaultIndexed int64 // headings, traits, references and tags of a vault; 0 if it is not set
}

// A Size is a number of bytes, which is positive if it is set. ParseSize describes its text.
type Size int64

// An Issuer issues JSON Web Tokens that are accepted. Several entries may have the same URL, with
// different audiences or claims; the first one that matches a token decides its tenant and role.
type Issuer struct {
	Issuer     string   // the exact `iss` of its tokens
	Audience   string   // one of the token's `aud`; empty: public_url, or a path below it
	JWKSURL    string   // the URL of its keys; empty: from its metadata
	Algorithms []string // a subset of RS256, ES256 and EdDSA

	// Claims are conditions that all must be true; * means any run of characters other than / and :.
	Claims map[string]string

	// Tenant is the tenant of its tokens, and TenantClaim the claim with its name. If both are set,
	// Tenant applies to tokens without the claim. At least one is set.
	Tenant, TenantClaim string

	// RolesClaim is the claim with the roles, and Role the role of a token without it. If neither
	// is set, only members are accepted.
	RolesClaim string
	Role       auth.Role

	ClientID string // of the OAuth client with which a person's program logs in
}

// An Admin is a person who becomes the first admin of a tenant, which is created if necessary. It
// has an effect only while the tenant has no admin.
type Admin struct{ Issuer, Subject, Tenant string }

// The defaults (CONTRACT §9).
const (
	defaultMutations = 60
	defaultReads     = 600

	DefaultCalls       = 256  // calls that run at once
	DefaultConnections = 4096 // open connections
)

// maxFile is the largest size of the file in bytes.
const maxFile = 1 << 20

// Load reads the file at path, unless path is empty, and then the environment: for each key `a.b`
// the variable ROOKERY_A_B, unless it is empty. Paths in the file are relative to its folder, and
// those in variables to the working directory. It reports all problems in one *fault.Fault,
// INVALID_PARAMETER, each with its file and line or its variable. With an error, the Config is
// zero.
func Load(path string, env func(string) string) (Config, error) {
	l := &loader{env: env, bad: map[string]bool{}}
	l.places = map[string]place{}
	l.Limits = Limits{MutationsPerMinute: defaultMutations, ReadsPerMinute: defaultReads}
	l.MaxCalls, l.MaxConnections = DefaultCalls, DefaultConnections
	if path != "" {
		text, err := read(path)
		if err != nil {
			return Config{}, err
		}
		l.file(filepath.Base(path), text)
		l.rebase(filepath.Dir(path))
	}
	l.environment()
	l.checkServer()
	l.checkIssuers()
	l.checkAdmins()
	if f := fault.Join(fault.InvalidParameter, l.problems); f != nil {
		return Config{}, f
	}
	return l.Config, nil
}

// read returns the text of the file, of at most maxFile bytes. Faults name the file without its
// folder, because a message may be shown to others.
func read(path string) ([]byte, error) {
	unread := fault.New(fault.InvalidParameter, "%s cannot be read", filepath.Base(path)).
		Fix("--config takes the path of a YAML file")
	f, err := os.Open(path)
	if err != nil {
		return nil, withCause(unread, err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, withCause(unread, err)
	case len(text) > maxFile:
		return nil, fault.New(fault.InvalidParameter, "%s has more than %d bytes",
			filepath.Base(path), maxFile)
	}
	return text, nil
}

// withCause adds the cause to a fault about a file, without the path of the file.
func withCause(f *fault.Fault, err error) *fault.Fault {
	f = f.Because(err)
	if system, ok := errors.AsType[*fs.PathError](err); ok {
		f.Message += ": " + system.Err.Error()
	}
	return f
}

// rebase makes the relative paths of the file relative to its folder. It is called before the
// variables are read.
func (l *loader) rebase(dir string) {
	for _, path := range []*string{&l.Data, &l.TLS.Cert, &l.TLS.Key} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}
