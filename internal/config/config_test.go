package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
)

// whole is a file with every key.
const whole = `# one server
listen: 0.0.0.0:7780
data: ./data
public_url: https://memory.example.test
tls: {cert: cert.pem, key: key.pem}
trusted_proxies: [10.0.0.0/8]
issuers:
  - issuer: https://login.example.test
    audience: https://memory.example.test
    jwks_url: https://login.example.test/jwks.json
    algorithms: [RS256]
    tenant_claim: tenant
    roles_claim: roles
    client_id: rookery-cli
    claims: {repository: "acme/*"}
    role: editor
    tenant: acme
first_admin: [{issuer: https://login.example.test, subject: "alice", tenant: acme}]
limits: {mutations_per_minute: 70, reads_per_minute: 700, vault_indexed: 4000000}
readonly: false
metrics_listen: 127.0.0.1:7781
cors_origins: [https://app.example.test]
max_calls: 64
memory: 1GiB
max_connections: 500
`

// wanted returns the configuration of whole, in a directory.
func wanted(dir string) config.Config {
	return config.Config{
		Listen:    "0.0.0.0:7780",
		Data:      filepath.Join(dir, "data"),
		PublicURL: "https://memory.example.test",
		TLS: config.TLS{
			Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
		},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Issuers: []config.Issuer{{
			Issuer:     "https://login.example.test",
			Audience:   "https://memory.example.test",
			JWKSURL:    "https://login.example.test/jwks.json",
			Algorithms: []string{"RS256"}, Claims: map[string]string{"repository": "acme/*"},
			Tenant: "acme", TenantClaim: "tenant", RolesClaim: "roles", Role: auth.Editor,
			ClientID: "rookery-cli",
		}},
		FirstAdmins: []config.Admin{
			{Issuer: "https://login.example.test", Subject: "alice", Tenant: "acme"},
		},
		Limits:         config.Limits{MutationsPerMinute: 70, ReadsPerMinute: 700, VaultIndexed: 4_000_000},
		MetricsListen:  "127.0.0.1:7781",
		CORSOrigins:    []string{"https://app.example.test"},
		MaxCalls:       64,
		Memory:         1 << 30,
		MaxConnections: 500,
	}
}

// nothing is an environment without variables.
func nothing(string) string { return "" }

// written writes a file with a text, and returns its path.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rookery.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// problems returns the messages of a fault, and its fixes.
func problems(t *testing.T, err error) []string {
	t.Helper()
	require.True(t, fault.Is(err, fault.InvalidParameter), "%v", err)
	f := fault.Of(err)
	all := f.Errors
	if len(all) == 0 {
		all = []*fault.Fault{f}
	}
	var texts []string
	for _, p := range all {
		require.Equal(t, fault.InvalidParameter, p.Code)
		texts = append(texts, strings.Join(append([]string{p.Message}, p.Fixes...), " | "))
	}
	return texts
}

// TestEveryKey checks the meaning of each key of the file, and that paths are relative to the
// directory of the file.
func TestEveryKey(t *testing.T) {
	path := written(t, whole)
	c, err := config.Load(path, nothing)
	require.NoError(t, err)
	require.Equal(t, wanted(filepath.Dir(path)), c)
	crlf := written(t, "\ufeff"+strings.ReplaceAll(whole, "\n", "\r\n"))
	c, err = config.Load(crlf, nothing)
	require.NoError(t, err)
	require.Equal(t, wanted(filepath.Dir(crlf)), c)
}

// TestDefaults checks the defaults, and the values that follow from other values.
func TestDefaults(t *testing.T) {
	want := config.Config{
		Limits: config.Limits{MutationsPerMinute: 60, ReadsPerMinute: 600}, MaxCalls: 256, MaxConnections: 4096,
	}
	for _, path := range []string{"", written(t, ""), written(t, "# nothing\n\n")} {
		c, err := config.Load(path, nothing)
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	c, err := config.Load(written(t, `
data: /srv/notes
public_url: HTTPS://Memory.Example.test:443/
trusted_proxies: ["10.0.0.5", "::1", "::ffff:192.0.2.0/120", "fd00::/8"]
issuers: [{issuer: https://login.example.test/, tenant: acme}]
cors_origins: [https://App.example.test:443/]
`), nothing)
	require.NoError(t, err)
	require.Equal(t, "/srv/notes", c.Data)
	require.Equal(t, "https://memory.example.test", c.PublicURL)
	require.Equal(t, []string{"https://app.example.test"}, c.CORSOrigins)
	require.Equal(t, []config.Issuer{{
		Issuer: "https://login.example.test/", Audience: "https://memory.example.test",
		Algorithms: []string{"RS256", "ES256", "EdDSA"}, Tenant: "acme",
	}}, c.Issuers)
	var proxies []string
	for _, p := range c.Proxies().Trusted {
		proxies = append(proxies, p.String())
	}
	require.Equal(t, []string{"10.0.0.5/32", "::1/128", "192.0.2.0/24", "fd00::/8"}, proxies)
}

// variables returns the variables of a whole environment, with their values.
func variables() map[string]string {
	return map[string]string{
		"ROOKERY_LISTEN":          "[::]:7790",
		"ROOKERY_DATA":            "elsewhere",
		"ROOKERY_PUBLIC_URL":      "https://other.example.test:8443",
		"ROOKERY_TLS_CERT":        "other.pem",
		"ROOKERY_TLS_KEY":         "other.key",
		"ROOKERY_TRUSTED_PROXIES": "192.0.2.1, 198.51.100.0/24",
		"ROOKERY_ISSUERS": `[{"issuer": "https://ci.example.test", "audience": "rookery",
			"tenant": "umbrella", "role": "reader", "claims": {"sub": "repo:*"}}]`,
		"ROOKERY_FIRST_ADMIN": "- issuer: https://ci.example.test\n  subject: bob\n" +
			"  tenant: umbrella\n",
		"ROOKERY_LIMITS_MUTATIONS_PER_MINUTE": "7",
		"ROOKERY_LIMITS_READS_PER_MINUTE":     "8",
		"ROOKERY_READONLY":                    "1",
		"ROOKERY_METRICS_LISTEN":              "10.0.0.5:9000",
		"ROOKERY_CORS_ORIGINS":                `["https://one.example.test", https://two.example.test]`,
		"ROOKERY_MAX_CALLS":                   "9",
		"ROOKERY_MEMORY":                      "2 GiB",
		"ROOKERY_LIMITS_VAULT_INDEXED":        "3000000",
		"ROOKERY_MAX_CONNECTIONS":             "99",
	}
}

// TestEnvironment checks that each variable overrides its key in the file, and has the same meaning
// without a file.
func TestEnvironment(t *testing.T) {
	want := config.Config{
		Listen: "[::]:7790", Data: "elsewhere", PublicURL: "https://other.example.test:8443",
		TLS: config.TLS{Cert: "other.pem", Key: "other.key"},
		TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("198.51.100.0/24"),
		},
		Issuers: []config.Issuer{{
			Issuer: "https://ci.example.test", Audience: "rookery", Tenant: "umbrella",
			Algorithms: auth.Algorithms(), Role: auth.Reader,
			Claims: map[string]string{"sub": "repo:*"},
		}},
		FirstAdmins: []config.Admin{
			{Issuer: "https://ci.example.test", Subject: "bob", Tenant: "umbrella"},
		},
		Limits:   config.Limits{MutationsPerMinute: 7, ReadsPerMinute: 8, VaultIndexed: 3_000_000},
		ReadOnly: true, MetricsListen: "10.0.0.5:9000",
		CORSOrigins: []string{"https://one.example.test", "https://two.example.test"}, MaxCalls: 9,
		Memory:         2 << 30,
		MaxConnections: 99,
	}
	asked := map[string]bool{}
	env := func(name string) string {
		asked[name] = true
		return variables()[name]
	}
	for _, path := range []string{"", written(t, whole)} {
		c, err := config.Load(path, env)
		require.NoError(t, err)
		require.Equal(t, want, c)
	}
	for name := range asked {
		require.NotEmpty(t, variables()[name], "%s has no case here", name)
	}
	require.Len(t, asked, len(variables()))
}

// TestOneVariable checks that a variable changes only its own key.
func TestOneVariable(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"ROOKERY_DATA":      func(c *config.Config) { c.Data = "elsewhere" },
		"ROOKERY_READONLY":  func(c *config.Config) { c.ReadOnly = true },
		"ROOKERY_TLS_KEY":   func(c *config.Config) { c.TLS.Key = "other.key" },
		"ROOKERY_MAX_CALLS": func(c *config.Config) { c.MaxCalls = 9 },
		"ROOKERY_MEMORY":    func(c *config.Config) { c.Memory = 2 << 30 },
	} {
		path := written(t, whole)
		c, err := config.Load(path, func(asked string) string {
			if asked == name {
				return variables()[name]
			}
			return ""
		})
		require.NoError(t, err)
		want := wanted(filepath.Dir(path))
		change(&want)
		require.Equal(t, want, c, name)
	}
}

// TestAWrongVariable checks that a problem of the environment names the variable, and that a
// variable replaces an invalid value of the file.
func TestAWrongVariable(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"ROOKERY_LISTEN":                  {"7780", "ROOKERY_LISTEN: listen must be HOST:PORT"},
		"ROOKERY_READONLY":                {"maybe", "ROOKERY_READONLY: readonly must be true or false"},
		"ROOKERY_MAX_CALLS":               {"many", "ROOKERY_MAX_CALLS: max_calls must be a whole"},
		"ROOKERY_ISSUERS":                 {"[", "ROOKERY_ISSUERS: not valid YAML: "},
		"ROOKERY_FIRST_ADMIN":             {"alice", "ROOKERY_FIRST_ADMIN: first_admin must be a list"},
		"ROOKERY_TRUSTED_PROXIES":         {"10.0.0.1,ten", "ROOKERY_TRUSTED_PROXIES: trusted_proxies[1] "},
		"ROOKERY_LIMITS_READS_PER_MINUTE": {"0", "ROOKERY_LIMITS_READS_PER_MINUTE: limits.reads"},
	} {
		_, err := config.Load("", func(asked string) string {
			if asked == name {
				return c.text
			}
			return ""
		})
		all := problems(t, err)
		require.Len(t, all, 1, name)
		require.True(t, strings.HasPrefix(all[0], c.want), "%s: %s", name, all[0])
	}
	path := written(t, "issuers: [{issuer: http://login.example.test, tenant: acme}]\n")
	c, err := config.Load(path, func(name string) string {
		return map[string]string{"ROOKERY_ISSUERS": variables()["ROOKERY_ISSUERS"]}[name]
	})
	require.NoError(t, err)
	require.Equal(t, "umbrella", c.Issuers[0].Tenant)
}

// TestUnreadable checks the error for a file that cannot be read, which does not contain its path.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	large := written(t, strings.Repeat("#", 1<<20+1))
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "none.yaml cannot be read: no such file or directory",
		dir:                             filepath.Base(dir) + " cannot be read: is a directory",
		large:                           "rookery.yaml has more than 1048576 bytes",
	} {
		_, err := config.Load(path, nothing)
		all := problems(t, err)
		require.Contains(t, all[0], want)
		require.NotContains(t, all[0], filepath.Dir(path))
	}
}

// FuzzLoad checks that no file and no environment makes Load panic, or return a configuration that
// is not valid.
func FuzzLoad(f *testing.F) {
	f.Add(whole, "")
	f.Add("", whole)
	for _, text := range variables() {
		f.Add("issuers: &a\n- *a", text)
	}
	for _, text := range []string{
		"a: &a [*a]", "<<: {listen: x}", "? [x]\n: y", "tls: !!map 3", "limits: ~", "issuers: [~]",
		"issuers: [{claims: {? {} : 1}}]", "- x", "\xff", "listen: !!binary aGk=", "data: \"\\0\"",
		"trusted_proxies: ['::ffff:0:0/95', '0.0.0.0/0']", "public_url: 'https://[::1%25a]:0'",
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, file, variable string) {
		c, err := config.Load(written(t, file), func(name string) string {
			if len(name)%2 == len(variable)%2 {
				return variable
			}
			return ""
		})
		if err != nil {
			require.NotEmpty(t, problems(t, err))
			require.Equal(t, config.Config{}, c)
			return
		}
		require.Positive(t, c.MaxCalls)
		require.Equal(t, c.TLS.Cert == "", c.TLS.Key == "")
		require.NotContains(t, c.PublicURL, "@")
		for _, i := range c.Issuers {
			require.NotEmpty(t, i.Audience)
			require.NotEmpty(t, i.Tenant+i.TenantClaim)
			require.True(t, i.Role == auth.Nobody || i.Role.Valid())
			require.Subset(t, auth.Algorithms(), i.Algorithms)
			require.NotContains(t, i.Issuer, "@")
		}
		for _, p := range c.TrustedProxies {
			require.True(t, p.IsValid())
			require.Equal(t, p.Masked(), p)
		}
	})
}
