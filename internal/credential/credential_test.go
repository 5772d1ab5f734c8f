package credential_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
)

const (
	home  = credential.Origin("https://memory.example.test")
	other = credential.Origin("https://other.example.test:8443")
)

// secret is the token of the tests. All written data is searched for it.
const secret = "rk_acme_7x.c4nary-0f-a-t0ken"

// newStore returns a Store in a directory that does not exist yet.
func newStore(t *testing.T) credential.Store {
	t.Helper()
	return credential.Store{Dir: filepath.Join(t.TempDir(), "config", "rookery")}
}

// TestKeyring checks that a token is only in the keyring, and that only its own server gets it.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	s := newStore(t)
	in, err := s.Put(t.Context(), home, secret)
	require.NoError(t, err)
	require.Equal(t, credential.Keyring, in)
	require.NotContains(t, texts(t, s.Dir), secret)
	kept, err := keyring.Get("rookery", string(home))
	require.NoError(t, err)
	require.Equal(t, secret, kept)
	has(t, s, home, secret)
	has(t, s, other, "")

	// Another token replaces it, also in another place.
	s.NoKeyring = true
	in, err = s.Put(t.Context(), home, "second")
	require.NoError(t, err)
	require.Equal(t, credential.File, in)
	_, err = keyring.Get("rookery", string(home))
	require.ErrorIs(t, err, keyring.ErrNotFound)
	has(t, s, home, "second")
}

// TestFile checks the modes of the files, and that they contain several servers.
func TestFile(t *testing.T) {
	keyring.MockInitWithError(errors.New("no bus"))
	s := newStore(t)
	for origin, token := range map[credential.Origin]string{home: secret, other: "t2"} {
		in, err := s.Put(t.Context(), origin, token)
		require.NoError(t, err)
		require.Equal(t, credential.File, in)
	}
	has(t, s, home, secret)
	has(t, s, other, "t2")
	mode(t, s.Dir, 0o700)
	require.NoError(t, s.SetUsual(t.Context(), server(t, "https://x.test")))
	for _, name := range []string{"credentials.json", "credentials.lock", "config.yaml"} {
		mode(t, filepath.Join(s.Dir, name), 0o600)
	}
	all, err := s.Servers()
	require.NoError(t, err)
	require.Equal(t, []credential.Origin{home, other}, all)
	files, err := os.ReadDir(s.Dir)
	require.NoError(t, err)
	require.Len(t, files, 3, "nothing is left of what was replaced")

	was, err := s.Remove(t.Context(), home)
	require.NoError(t, err)
	require.True(t, was)
	require.NotContains(t, texts(t, s.Dir), secret)
	has(t, s, home, "")
	has(t, s, other, "t2")
	was, err = s.Remove(t.Context(), home)
	require.NoError(t, err)
	require.False(t, was)
}

// TestNothingIsMade checks that reads create no directory.
func TestNothingIsMade(t *testing.T) {
	s := newStore(t)
	has(t, s, home, "")
	all, err := s.Servers()
	require.NoError(t, err)
	require.Empty(t, all)
	_, ok, err := s.Usual()
	require.NoError(t, err)
	require.False(t, ok)
	require.NoDirExists(t, s.Dir)
}

// TestNotClosed checks that files that others can read or change are refused by every operation.
func TestNotClosed(t *testing.T) {
	for name, open := range map[string]func(credential.Store) error{
		"group reads":       func(s credential.Store) error { return os.Chmod(tokens(s), 0o640) },
		"others read":       func(s credential.Store) error { return os.Chmod(tokens(s), 0o604) },
		"others write":      func(s credential.Store) error { return os.Chmod(tokens(s), 0o602) },
		"directory":         func(s credential.Store) error { return os.Chmod(s.Dir, 0o777) },
		"damaged":           func(s credential.Store) error { return os.WriteFile(tokens(s), []byte("{"), 0o600) },
		"another's entries": func(s credential.Store) error { return os.WriteFile(tokens(s), []byte("[]"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.NoKeyring = true
			_, err := s.Put(t.Context(), home, secret)
			require.NoError(t, err)
			require.NoError(t, open(s))
			_, _, err = s.Token(t.Context(), home)
			refused(t, s, err)
			_, err = s.Put(t.Context(), other, "t")
			refused(t, s, err)
			_, err = s.Remove(t.Context(), home)
			refused(t, s, err)
			_, err = s.Servers()
			refused(t, s, err)
		})
	}
}

// TestClosedKeyring checks that a locked keyring is not treated as a missing token, and that its
// tokens are kept.
func TestClosedKeyring(t *testing.T) {
	keyring.MockInit()
	s := newStore(t)
	_, err := s.Put(t.Context(), home, secret)
	require.NoError(t, err)
	for name, s := range map[string]credential.Store{"locked": s, "none": {Dir: s.Dir, NoKeyring: true}} {
		t.Run(name, func(t *testing.T) {
			keyring.MockInitWithError(errors.New("locked"))
			_, _, err := s.Token(t.Context(), home)
			require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			_, err = s.Remove(t.Context(), home)
			require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			all, err := s.Servers()
			require.NoError(t, err)
			require.Equal(t, []credential.Origin{home}, all)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = s.Token(ctx, home)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)

	// A server can be logged out whose token was removed from the keyring by hand.
	keyring.MockInit()
	was, err := s.Remove(t.Context(), home)
	require.NoError(t, err)
	require.True(t, was)
}

// TestUnwritable checks that a token is stored nowhere if the directory cannot be written.
func TestUnwritable(t *testing.T) {
	keyring.MockInit()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := credential.Store{Dir: filepath.Join(file, "rookery")}
	_, err := s.Put(t.Context(), home, secret)
	refused(t, s, err)
	require.Contains(t, fault.Of(err).Fixes[0], "XDG_CONFIG_HOME")

	dir := newStore(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir.Dir, "credentials.json", "x"), 0o700))
	_, err = dir.Put(t.Context(), home, secret)
	refused(t, dir, err)
	_, err = keyring.Get("rookery", string(home))
	require.ErrorIs(t, err, keyring.ErrNotFound)
}

// TestAtOnce checks that no concurrent login is lost.
func TestAtOnce(t *testing.T) {
	s := newStore(t)
	s.NoKeyring = true
	const people = 20
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			own := credential.Store{Dir: s.Dir, NoKeyring: true}
			_, err := own.Put(t.Context(), credential.Origin(fmt.Sprintf("https://s%d.test", i)), "t")
			require.NoError(t, err)
			require.NoError(t, own.SetUsual(t.Context(), server(t, fmt.Sprintf("https://s%d.test", i))))
		})
	}
	wg.Wait()
	all, err := s.Servers()
	require.NoError(t, err)
	require.Len(t, all, people)
	_, ok, err := s.Usual()
	require.NoError(t, err)
	require.True(t, ok)
}

// TestUsual checks that the default server is read, written and removed, and that other content of
// the file is kept.
func TestUsual(t *testing.T) {
	s := newStore(t)
	require.NoError(t, os.MkdirAll(s.Dir, 0o700))
	config := filepath.Join(s.Dir, "config.yaml")
	require.NoError(t, os.WriteFile(config,
		[]byte("# mine\n\n# where it is\nserver: HTTPS://Memory.Example.Test:443/team/ # at work\n"), 0o644))
	usual, ok, err := s.Usual()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, credential.Server{URL: "https://memory.example.test/team", Origin: home, TLS: true}, usual)

	require.NoError(t, s.SetUsual(t.Context(), server(t, "http://127.0.0.1:7780")))
	require.Equal(t, "# mine\n\n# where it is\nserver: http://127.0.0.1:7780 # at work\n", texts(t, config))
	was, err := s.ForgetUsual(t.Context(), home)
	require.NoError(t, err)
	require.False(t, was)
	was, err = s.ForgetUsual(t.Context(), "http://127.0.0.1:7780")
	require.NoError(t, err)
	require.True(t, was)
	_, ok, err = s.Usual()
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.SetUsual(t.Context(), server(t, "https://x.test")))
	require.Contains(t, texts(t, config), "server: https://x.test")
}

// TestMalformedConfig checks that a file with other content is refused and left unchanged.
func TestMalformedConfig(t *testing.T) {
	for text, part := range map[string]string{
		"sevrer: https://x.test\n":                  "the key server",
		"server: https://x.test\ntoken: " + secret:  "the key server",
		"server: [https://x.test]\n":                "the key server",
		"server: x.test\n":                          "must begin with https://",
		"server: https://u:" + secret + "@x.test\n": "name or password",
		"- x\n":       "not a mapping of keys",
		"server: {\n": "not YAML",
		"server: \"https://x.test/?token=" + secret + "\"": "it must have no name",
	} {
		s := newStore(t)
		require.NoError(t, os.MkdirAll(s.Dir, 0o700))
		config := filepath.Join(s.Dir, "config.yaml")
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		_, _, err := s.Usual()
		require.True(t, fault.Is(err, fault.InvalidParameter), text)
		require.Contains(t, err.Error(), part)
		require.Contains(t, fault.Of(err).Fixes[0], "server: https://memory.example.test")
		require.NotContains(t, fmt.Sprint(err, fault.Of(err).Fixes), secret)
	}
	for _, text := range []string{"", "# nothing\n", "{}\n", "server:\n", "null\n"} {
		s := newStore(t)
		require.NoError(t, os.MkdirAll(s.Dir, 0o700))
		config := filepath.Join(s.Dir, "config.yaml")
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		_, ok, err := s.Usual()
		require.NoError(t, err, text)
		require.False(t, ok)
		require.NoError(t, s.SetUsual(t.Context(), server(t, "https://x.test")))
		usual, ok, err := s.Usual()
		require.NoError(t, err, text)
		require.True(t, ok)
		require.Equal(t, "https://x.test", usual.URL)
	}
}

// has requires that this is the token of a server.
func has(t *testing.T, s credential.Store, o credential.Origin, want string) {
	t.Helper()
	token, _, err := s.Token(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, want, token)
}

// refused requires an error about the files that contains neither a token nor the directory.
func refused(t *testing.T, s credential.Store, err error) {
	t.Helper()
	require.True(t, fault.Is(err, fault.FileError), "%v", err)
	said := fmt.Sprint(fault.Of(err).Message, fault.Of(err).Fixes)
	require.NotContains(t, said, secret)
	require.NotContains(t, said, s.Dir)
}

func tokens(s credential.Store) string { return filepath.Join(s.Dir, "credentials.json") }

func mode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, want, info.Mode().Perm(), path)
}

// texts returns the content of a file, or of all files in a directory.
func texts(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		all.Write(data)
		return err
	}))
	return all.String()
}

func server(t *testing.T, address string) credential.Server {
	t.Helper()
	s, err := credential.ParseServer(address)
	require.NoError(t, err)
	return s
}
