package credential_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestOrigins checks which spellings of an address are the same server, and to which a token may be
// sent.
func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		address, url, origin string
		private              bool
	}{
		{"https://memory.example.test", "https://memory.example.test", "https://memory.example.test", true},
		{" HTTPS://Memory.EXAMPLE.test:443/ ", "https://memory.example.test", "https://memory.example.test", true},
		{"https://memory.example.test//", "https://memory.example.test", "https://memory.example.test", true},
		{"https://memory.example.test/Team/a%2Fb/", "https://memory.example.test/Team/a%2Fb", "https://memory.example.test", true},
		{"https://memory.example.test:8443", "https://memory.example.test:8443", "https://memory.example.test:8443", true},
		{"https://memory.example.test:80", "https://memory.example.test:80", "https://memory.example.test:80", true},
		{"http://localhost:7780/", "http://localhost:7780", "http://localhost:7780", true},
		{"http://LOCALHOST:80", "http://localhost", "http://localhost", true},
		{"http://127.0.0.1:7780", "http://127.0.0.1:7780", "http://127.0.0.1:7780", true},
		{"http://127.8.8.8", "http://127.8.8.8", "http://127.8.8.8", true},
		{"http://[::1]:7780", "http://[::1]:7780", "http://[::1]:7780", true},
		{"http://[0:0:0:0:0:0:0:1]", "http://[::1]", "http://[::1]", true},
		{"https://[2001:DB8::0:1]:443", "https://[2001:db8::1]", "https://[2001:db8::1]", true},
		{"http://[::ffff:127.0.0.1]:1", "http://127.0.0.1:1", "http://127.0.0.1:1", true},
		{"http://memory.example.test", "http://memory.example.test", "http://memory.example.test", false},
		{"http://10.0.0.7:7780", "http://10.0.0.7:7780", "http://10.0.0.7:7780", false},
		{"http://0.0.0.0:7780", "http://0.0.0.0:7780", "http://0.0.0.0:7780", false},
		{"http://[2001:db8::1]", "http://[2001:db8::1]", "http://[2001:db8::1]", false},
		{"http://localhost.example.test", "http://localhost.example.test", "http://localhost.example.test", false},
		{"http://127.0.0.1.example.test", "http://127.0.0.1.example.test", "http://127.0.0.1.example.test", false},
		{"http://2130706433", "http://2130706433", "http://2130706433", false},
	} {
		s, err := credential.ParseServer(c.address)
		require.NoError(t, err, c.address)
		require.Equal(t, c.url, s.URL, c.address)
		require.Equal(t, credential.Origin(c.origin), s.Origin, c.address)
		require.Equal(t, c.private, s.Private(), c.address)
		again, err := credential.ParseServer(s.URL)
		require.NoError(t, err)
		require.Equal(t, s, again, "its own spelling is the same server")
	}
}

// TestNoServer checks that other addresses are refused, and that the error contains no part of
// them.
func TestNoServer(t *testing.T) {
	for _, address := range []string{
		"", "memory.example.test", "memory.example.test:443", "//memory.example.test", "ftp://s3cret.test",
		"https://", "https://:443", "https:s3cret.test", "https://user:s3cret@memory.example.test",
		"https://s3cret@memory.example.test", "https://memory.example.test?token=s3cret",
		"https://memory.example.test/?", "https://memory.example.test#s3cret", "https://[s3cret",
		"https://memory.example.test:s3cret", "https://s3cret example.test", "unix:///s3cret.sock",
	} {
		_, err := credential.ParseServer(address)
		require.True(t, fault.Is(err, fault.InvalidParameter), address)
		require.Equal(t, []string{"https://memory.example.test"}, fault.Of(err).Fixes)
		require.NotContains(t, fmt.Sprint(err, fault.Of(err).Fixes), "s3cret")
	}
}
