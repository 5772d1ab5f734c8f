// Package config reads what one server is told when it starts: a YAML file, and the environment, which
// beats it (CONTRACT §7). It is strict: a key that it does not know, or a value that could not be
// meant, is an error that says where it stands and what would be right.
package config

import (
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// A Config is what a server is told. Load has checked it: URLs, networks and names are what they have
// to be, and what was not said has its default.
type Config struct {
	Listen         string // HOST:PORT; empty: it was not said
	Data           string // the data directory; empty: it was not said
	PublicURL      string // scheme, host and port alone, without a slash at the end; empty: none
	TLS            TLS
	TrustedProxies []netip.Prefix // of machines that may say how a request came to them
	Issuers        []Issuer       // the first that a token matches counts
	FirstAdmins    []Admin        // one for each tenant at most
	Limits         Limits
	ReadOnly       bool
	MetricsListen  string   // HOST:PORT on loopback or in a private network; empty: no metrics
	CORSOrigins    []string // scheme://host[:port], of pages that may call; empty: none may
	MaxCalls       int      // that run at once
	Memory         Size     // that open vaults hold together; 0: it was not said
	MaxConnections int      // that are open at once; fewer where the process may open fewer files
}

// TLS are the files of the certificate, with its chain, and of its key: both, or neither.
type TLS struct{ Cert, Key string }

// Limits are rates of one agent, and what a vault may hold (CONTRACT §9).
type Limits struct {
	MutationsPerMinute, ReadsPerMinute int

	VaultIndexed int64 // headings, traits, references and tags of a vault; 0: it was not said
}

// A Size is a number of bytes, which is written as ParseSize reads it.
type Size int64

// An Issuer makes JSON Web Tokens that are let in.
type Issuer struct {
	Issuer     string            // `iss` of its tokens, to the byte
	Audience   string            // one of the token's `aud`; empty: public_url, or a path below it
	JWKSURL    string            // where its keys are; empty: where its metadata says
	Algorithms []string          // of RS256, ES256 and EdDSA
	Claims     map[string]string // conditions that all hold; * stands for a run without / and :

	// Tenant is the tenant of its tokens, and TenantClaim the claim that names it. Where both are
	// given, Tenant is that of the tokens without the claim. One of them is there.
	Tenant, TenantClaim string

	// RolesClaim is the claim that holds the roles, and Role that of a token without it. Where neither
	// is given, only members get in.
	RolesClaim string
	Role       auth.Role

	ClientID string // with which a person's program signs in
}

// An Admin becomes the first admin of a tenant.
type Admin struct{ Issuer, Subject, Tenant string }

// The defaults of CONTRACT §9.
const (
	defaultMutations = 60
	defaultReads     = 600

	DefaultCalls       = 256  // that run at once
	DefaultConnections = 4096 // that are open at once
)

// maxFile is how many bytes the file may have.
const maxFile = 1 << 20

// Load reads the file at path, if there is one, and then the environment: of each key `a.b` the
// variable ROOKERY_A_B, if it is not empty. Paths in the file are relative to its folder. All problems
// come together in one *fault.Fault, INVALID_PARAMETER.
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

// read is the text of the file.
func read(path string) ([]byte, error) {
	unread := fault.New(fault.InvalidParameter, "%s cannot be read", filepath.Base(path)).
		Fix("--config takes the path of a YAML file")
	f, err := os.Open(path)
	if err != nil {
		return nil, because(unread, err)
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, because(unread, err)
	case len(text) > maxFile:
		return nil, fault.New(fault.InvalidParameter, "%s has more than %d bytes",
			filepath.Base(path), maxFile)
	}
	return text, nil
}

// because adds to a fault why a file could not be used, without its path.
func because(f *fault.Fault, err error) *fault.Fault {
	f = f.Because(err)
	var system *fs.PathError
	if errors.As(err, &system) {
		f.Message += ": " + system.Err.Error()
	}
	return f
}

// rebase makes the paths that the file says relative to its folder.
func (l *loader) rebase(dir string) {
	for _, path := range []*string{&l.Data, &l.TLS.Cert, &l.TLS.Key} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}
