package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
)

// refusals are configuration files with one problem each: at is the line and the beginning of the
// message, and more a part of the rest of the message or of a fix.
var refusals = map[string]struct{ text, at, more string }{
	"no YAML":       {"listen: [", "2: not valid YAML: ", ""},
	"two documents": {"data: a\n---\ndata: b\n", "1: not valid", "single"},
	"a list":        {"- listen\n", "1: the file must be a mapping", ""},
	"a word":        {"\n\nlisten\n", "3: the file must be a mapping", ""},
	"a strange key": {"? [a]\n: b\n", "1: a key of the file must be", ""},
	"an unknown key": {
		"data: a\npublic_uri: b\n",
		"2: the file has no key \"public_uri\"", "use the key public_url",
	},
	"a far key": {"wholly_else: b\n", "1: the file has no key", ""},
	"a nested key": {
		"tls: {cert: a, key: b,\n  kay: c}\n",
		"2: tls has no key \"kay\"", "use the key tls.key",
	},
	"an issuer's key": {
		"issuers:\n- issuer: https://a.test\n  audiense: x\n",
		"3: issuers[0] has no key \"audiense\"", "use the key issuers[0].audience",
	},
	"a capital": {
		"Listen: 127.0.0.1:1\n",
		"1: the file has no key \"Listen\"", "use the key listen",
	},
	"twice": {
		"data: a\nlisten: 127.0.0.1:1\ndata: b\n",
		"3: data is given twice", "",
	},
	"twice, nested": {
		"limits:\n  reads_per_minute: 1\n  reads_per_minute: 2\n",
		"3: limits.reads_per_minute is given twice", "",
	},
	"a claim twice": {
		"issuers: [{issuer: https://a.test, audience: b, tenant: c, claims: {d: e,\n d: f}}]\n",
		"2: issuers[0].claims.d is given twice", "",
	},
	"a number for a text": {"data: 12\n", "1: data must be a text: put it in quotes", ""},
	"a list for a text":   {"data: [a]\n", "1: data must be a text", ""},
	"no value":            {"data:\n", "1: data has no value", ""},
	"an empty text":       {"data: ''\n", "1: data has no value", ""},
	"a control character": {"data: \"a\\nb\"\n", "1: data must be a text of one line", ""},
	"an alias":            {"data: &a x\nlisten: *a\n", "2: listen must be written out", ""},
	"a text for a number": {
		"max_calls: many\n",
		"1: max_calls must be a whole number from 1 to", "",
	},
	"a float": {
		"limits: {reads_per_minute: 1.5}\n",
		"1: limits.reads_per_minute must be a whole", "",
	},
	"nought": {
		"limits: {mutations_per_minute: 0}\n",
		"1: limits.mutations_per_minute must", "",
	},
	"less than nought": {"max_calls: -1\n", "1: max_calls must", ""},
	"too many":         {"max_calls: 1000001\n", "1: max_calls must", ""},
	"no memory":        {"memory: 0\n", "1: memory must be a number of bytes above 0", ""},
	"no size":          {"memory: much\n", "1: memory must be a number of bytes above 0", ""},
	"none indexed": {"limits: {vault_indexed: 0}\n", "1: limits.vault_indexed must be a whole number from 1 to",
		""},
	"a word for a flag": {"readonly: yes\n", "1: readonly must be true or false", ""},
	"a text for a list": {
		"trusted_proxies: 10.0.0.5\n",
		"1: trusted_proxies must be a list", "",
	},
	"an empty list": {"issuers: []\n", "1: issuers must be a list with one entry", ""},
	"a text for mappings": {
		"issuers: [https://a.test]\n",
		"1: issuers[0] must be a mapping", "",
	},
	"a list for a claim": {
		"issuers:\n- issuer: https://a.test\n  audience: b\n  tenant: c\n  claims: {d: [e]}\n",
		"5: issuers[0].claims.d must be a text", "",
	},
	"no claims": {
		"issuers:\n- {issuer: https://a.test, audience: b, tenant: c, claims: {}}\n",
		"2: issuers[0].claims must be a mapping", "",
	},
	"an empty claim": {
		"issuers:\n- {issuer: https://a.test, audience: b, tenant: c, claims: {d: ''}}\n",
		"2: issuers[0].claims.d has no value", "",
	},
	"a port alone": {"listen: 7780\n", "1: listen must be a text", ""},
	"no port":      {"listen: 0.0.0.0\n", "1: listen must be HOST:PORT", ""},
	"a named port": {"listen: 0.0.0.0:https\n", "1: listen must be HOST:PORT", ""},
	"a large port": {"listen: 0.0.0.0:65536\n", "1: listen must be HOST:PORT", ""},
	"a bad host":   {"listen: a/b:80\n", "1: listen must be HOST:PORT", ""},
	"no key":       {"tls: {cert: a}\n", "1: tls has a certificate and no key", "add tls.key"},
	"no certificate": {
		"\ntls: {key: a}\n",
		"2: tls has a key and no certificate", "add tls.cert",
	},
	"neither": {"tls: {}\n", "1: tls must have cert and key", ""},
	"plain with TLS": {
		"tls: {cert: a, key: b}\npublic_url: http://localhost:80\n",
		"2: public_url must begin with https://", "tls",
	},
	"plain, proxied": {
		"trusted_proxies: [127.0.0.1]\npublic_url: http://localhost\n",
		"2: public_url must begin with https://", "trusted_proxies",
	},
	"all of IPv4": {
		"trusted_proxies:\n- 10.0.0.0/8\n- 0.0.0.0/0\n",
		"3: trusted_proxies[1] is too wide for a private network", "name the addresses of the proxies",
	},
	"half of IPv4": {"trusted_proxies: [128.0.0.0/1]\n", "1: trusted_proxies[0] is too wide", ""},
	"all of IPv6":  {"trusted_proxies: ['::/0']\n", "1: trusted_proxies[0] is too wide", ""},
	"all, mapped": {
		"trusted_proxies: ['::ffff:0:0/96']\n",
		"1: trusted_proxies[0] is too wide", "",
	},
	"bits behind": {
		"trusted_proxies: [10.0.0.5/8]\n",
		"1: trusted_proxies[0] has bits", "10.0.0.0/8 for the network, or 10.0.0.5",
	},
	"a name": {"trusted_proxies: [proxy]\n", "1: trusted_proxies[0] must be an address", ""},
	"a zone": {"trusted_proxies: ['fe80::1%eth0']\n", "1: trusted_proxies[0] must be", ""},
	"public metrics": {
		"metrics_listen: 0.0.0.0:7781\n",
		"1: metrics_listen must be an address on loopback", "",
	},
	"metrics, all": {"metrics_listen: ':7781'\n", "1: metrics_listen must be an address", ""},
	"metrics, global": {
		"metrics_listen: 203.0.113.5:7781\n",
		"1: metrics_listen must be an", "",
	},
	"metrics, name": {"metrics_listen: metrics:7781\n", "1: metrics_listen must be an", ""},
	"metrics, form": {"metrics_listen: 127.0.0.1\n", "1: metrics_listen must be HOST:PORT", ""},
	"metrics, both": {
		"listen: 127.0.0.1:1\nmetrics_listen: 127.0.0.1:1\n",
		"2: metrics_listen must be another", "",
	},
	"every origin": {"cors_origins: ['*']\n", "1: cors_origins[0] must be one origin", ""},
	"a plain origin": {
		"cors_origins: [http://app.test]\n",
		"1: cors_origins[0] must begin with https", "",
	},
	"an origin, path": {
		"cors_origins:\n- https://app.test/x\n",
		"2: cors_origins[0] must not have a path", "",
	},
	"no issuer": {
		"issuers: [{audience: b, tenant: c}]\n",
		"1: issuers[0] must have an issuer", "",
	},
	"a plain issuer": {
		issuer("issuer: http://a.test"),
		"2: issuers[0].issuer must begin with https", "",
	},
	"an issuer's query": {
		issuer("issuer: https://a.test?b"),
		"2: issuers[0].issuer must not have a query", "",
	},
	"an empty query": {
		issuer("issuer: https://a.test?"),
		"2: issuers[0].issuer must not have a query", "",
	},
	"a fragment": {
		issuer("issuer: 'https://a.test/#b'"),
		"2: issuers[0].issuer must not have a fragment", "",
	},
	"an empty fragment": {
		issuer("issuer: 'https://a.test#'"),
		"2: issuers[0].issuer must not have a fragment", "",
	},
	"a user": {
		issuer("issuer: https://b@a.test"),
		"2: issuers[0].issuer must not have a user", "",
	},
	"an @": {
		issuer("issuer: https://a.test/b@c"),
		"2: issuers[0].issuer must not have a user, a password or @", "",
	},
	"no audience": {
		"issuers: [{issuer: https://a.test, tenant: c}]\n",
		"1: issuers[0] must have an audience", "",
	},
	"plain keys": {
		issuer("jwks_url: http://a.test/b"),
		"3: issuers[0].jwks_url must begin with https", "",
	},
	"none": {
		issuer("algorithms: [none]"),
		"3: issuers[0].algorithms[0] must be one of RS256, ES256, EdDSA", "",
	},
	"HS256": {
		issuer("algorithms: [RS256,\n HS256]"),
		"4: issuers[0].algorithms[1] must be one", "use RS256",
	},
	"RS256 twice": {
		issuer("algorithms: [RS256, RS256]"),
		"3: issuers[0].algorithms[1] is listed twice", "",
	},
	"no tenant": {
		"issuers: [{issuer: https://a.test, audience: b}]\n",
		"1: issuers[0] must have tenant", "tenant_claim",
	},
	"a bad tenant": {issuer("tenant: Acme Inc"), "4: issuers[0].tenant must have 1 to 63", ""},
	"a bad role": {
		issuer("role: owner"),
		"3: issuers[0].role must be one of reader, editor, admin", "",
	},
	"anyone": {issuer("role: anyone"), "3: issuers[0].role must be one of", ""},
	"an admin of nobody": {
		issuer("", "issuer: https://b.test, subject: x, tenant: c"),
		"6: first_admin[0].issuer must be exactly the issuer of an entry", "",
	},
	"an admin, but for a /": {
		issuer("", "issuer: https://a.test/, subject: x, tenant: c"),
		"6: first_admin[0].issuer must", "exactly",
	},
	"an admin of no tenant": {
		issuer("", "issuer: https://a.test, subject: x, tenant: d"),
		"6: first_admin[0] has a tenant that no token", "",
	},
	"an admin, half": {
		issuer("", "issuer: https://a.test, tenant: c"),
		"6: first_admin[0] must have issuer, subject and tenant", "",
	},
	"an admin, not printed": {
		issuer("", "issuer: https://a.test, subject: zoë, tenant: c"),
		"6: first_admin[0].subject must", "",
	},
	"an admin with a number": {
		issuer("", "issuer: https://a.test, subject: 12, tenant: c"),
		"6: first_admin[0].subject must be a text: put it in quotes", "",
	},
	"an admin, too long": {
		issuer("", "issuer: https://a.test, tenant: c, subject: "+strings.Repeat("x", 256)),
		"6: first_admin[0].subject must have at most 255", "",
	},
	"twins": {
		"issuers:\n- {issuer: https://a.test, audience: b, tenant: c}\n" +
			"- {issuer: https://a.test, audience: b, tenant: d}\n",
		"3: issuers[1] has the issuer, the audience and the claims", "",
	},
	"two admins of a tenant": {
		issuer("", "issuer: https://a.test, subject: x, tenant: c",
			"issuer: https://a.test, subject: y, tenant: c"),
		"7: first_admin[1] is a second one for its tenant", "",
	},
}

// issuer returns a file with one issuer that has an additional key, and with first admins.
func issuer(own string, admins ...string) string {
	lines := []string{"issuer: https://a.test", "audience: b", "tenant: c"}
	key, _, _ := strings.Cut(own, ":")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
	switch {
	case at >= 0:
		lines[at] = own
	case own != "":
		lines = slices.Insert(lines, 1, own)
	}
	text := "issuers:\n- " + strings.Join(lines, "\n  ") + "\n"
	if len(admins) > 0 {
		text += "first_admin:\n- {" + strings.Join(admins, "}\n- {") + "}\n"
	}
	return text
}

// TestRefusals checks that each invalid file is refused with its problem, the position and a fix.
func TestRefusals(t *testing.T) {
	for name, c := range refusals {
		_, err := config.Load(written(t, c.text), nothing)
		require.Error(t, err, name)
		all := problems(t, err)
		require.Len(t, all, 1, "%s: %q", name, all)
		require.True(t, strings.HasPrefix(all[0], "rookery.yaml:"+c.at), "%s: %s", name, all[0])
		require.Contains(t, all[0], c.more, name)
	}
}

// TestAllTogether checks that all problems are reported together.
func TestAllTogether(t *testing.T) {
	_, err := config.Load(written(t, "listen: 1\nlitsen: 2\nreadonly: 3\nmax_calls: 4\n"+
		"public_url: ftp://a.test\n"), nothing)
	all := problems(t, err)
	require.Len(t, all, 4)
	for i, want := range []string{
		"1: listen must be a text", "2: the file has no key \"litsen\"", "3: readonly must be",
		"5: public_url must begin",
	} {
		require.True(t, strings.HasPrefix(all[i], "rookery.yaml:"+want), all[i])
	}
	_, err = config.Load(written(t, "trusted_proxies: [x"+strings.Repeat(", x", 1000)+"]\n"), nothing)
	require.Len(t, problems(t, err), fault.MaxProblems)
}

// TestPublicURL checks valid and invalid public URLs, and that no error contains the URL, because
// it may contain a password.
func TestPublicURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://a.test":               "https://a.test",
		"https://a.test/":              "https://a.test",
		"https://A.Test:443":           "https://a.test",
		"https://a.test:8443":          "https://a.test:8443",
		"https://192.0.2.1":            "https://192.0.2.1",
		"https://[2001:DB8::443]":      "https://[2001:db8::443]",
		"https://[2001:db8::1]:443/":   "https://[2001:db8::1]",
		"http://localhost:7780":        "http://localhost:7780",
		"http://127.0.0.1:80":          "http://127.0.0.1",
		"http://[::1]:7780":            "http://[::1]:7780",
		"https://xn--bcher-kva.test":   "https://xn--bcher-kva.test",
		"http://a.test":                "",
		"http://192.0.2.1":             "",
		"http://127.1":                 "",
		"http://localhost.a.test":      "",
		"ftp://a.test":                 "",
		"a.test":                       "",
		"//a.test":                     "",
		"https:a.test":                 "",
		"https://":                     "",
		"https://:443":                 "",
		"https://a.test:":              "",
		"https://a.test:0":             "",
		"https://a.test:65536":         "",
		"https://a.test:x":             "",
		"https://a.test/notes":         "",
		"https://a.test//":             "",
		"https://a.test/?":             "",
		"https://a.test?hushhush":      "",
		"https://a.test#":              "",
		"https://user:hushhush@a.test": "",
		"https://a.test/hushhush@b":    "",
		"https://@a.test":              "",
		"https://a b.test":             "",
		"https://a.test\\b":            "",
		"https://bücher.test":          "",
		"https://a.test.":              "",
		"https://-a.test":              "",
		"https://a..test":              "",
		"https://[::1%25eth0]":         "",
		"https://a%2ftest":             "",
		"javascript:hushhush":          "",
		"https://a.test/%2e%2e":        "",
		"https://[::1":                 "",
		"https://a.test;b.test":        "",
	} {
		c, err := config.Load("", func(name string) string {
			return map[string]string{"ROOKERY_PUBLIC_URL": text}[name]
		})
		if want != "" {
			require.NoError(t, err, text)
			require.Equal(t, want, c.PublicURL, text)
			continue
		}
		require.Error(t, err, text)
		require.NotContains(t, problems(t, err)[0], "hushhush", text)
	}
}

// TestSameIssuer checks that one issuer may have several entries if their audiences or claims
// differ.
func TestSameIssuer(t *testing.T) {
	c, err := config.Load(written(t, `
public_url: https://notes.example.test
issuers:
- {issuer: https://a.test, tenant: one, claims: {repository: "one/*"}}
- {issuer: https://a.test, tenant: two, claims: {repository: "two/*"}}
- {issuer: https://a.test, tenant: three, audience: other}
- {issuer: https://a.test, tenant_claim: org}
first_admin:
- {issuer: https://a.test, subject: x, tenant: two}
- {issuer: https://a.test, subject: x, tenant: any}
`), nothing)
	require.NoError(t, err)
	require.Len(t, c.Issuers, 4)
	require.Len(t, c.FirstAdmins, 2)
}

// TestListen checks the addresses on which a server may listen, and the settings that an address
// other than loopback requires.
func TestListen(t *testing.T) {
	const (
		issuers = "issuers: [{issuer: https://a.test, audience: b, tenant: c}]\n"
		public  = "public_url: https://notes.example.test\n"
		proxies = "trusted_proxies: [10.0.0.5]\n"
		tls     = "tls: {cert: a, key: b}\n"
		all     = "listen: 0.0.0.0:7780\n"
	)
	for name, c := range map[string]struct {
		text   string
		tokens bool
		want   []string // the fixes
		local  bool     // every caller is local
	}{
		"nothing":                {"", false, nil, true},
		"nothing, but tokens":    {"", true, nil, false},
		"localhost":              {"listen: localhost:1\n", false, nil, true},
		"127.0.0.2":              {"listen: 127.0.0.2:1\n", false, nil, true},
		"::1":                    {"listen: '[::1]:1'\n", false, nil, true},
		"mapped":                 {"listen: '[::ffff:127.0.0.1]:1'\n", false, nil, true},
		"loopback, with issuers": {issuers, false, nil, false},
		"loopback, named":        {public, false, nil, false},
		"loopback, behind one":   {proxies, false, nil, false},
		"all":                    {all, false, []string{"issuers", "tls:", "public_url:"}, false},
		"every interface": {
			"listen: ':80'\n", false, []string{"issuers", "tls:", "public_url:"}, false,
		},
		"a host by name":    {"listen: host:80\n", true, []string{"tls:", "public_url:"}, false},
		"with tokens":       {all + tls + public, true, nil, false},
		"with issuers":      {all + proxies + public + issuers, false, nil, false},
		"without either":    {all + tls + public, false, []string{"API token"}, false},
		"without TLS":       {all + public + issuers, true, []string{"trusted_proxies:"}, false},
		"without a name":    {all + tls + issuers, true, []string{"public_url:"}, false},
		"another machine's": {"listen: 192.0.2.1:80\n" + tls, true, []string{"public_url:"}, false},
	} {
		conf, err := config.Load(written(t, c.text), nothing)
		require.NoError(t, err, name)
		require.Equal(t, c.local, conf.Local(c.tokens), name)
		err = conf.Check(c.tokens)
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		told := problems(t, err)
		require.Len(t, told, len(c.want), "%s: %q", name, told)
		for i, want := range c.want {
			require.Contains(t, told[i], want, name)
		}
	}
}

// TestListenElsewhere checks that an address of the command line, which is not in the file, is
// checked too.
func TestListenElsewhere(t *testing.T) {
	for _, addr := range []string{"7780", "localhost", "0.0.0.0", "0.0.0.0:x", "a b:1", ":"} {
		told := problems(t, config.Config{Listen: addr}.Check(true))
		require.Equal(t, []string{
			"--listen must be HOST:PORT | --listen 127.0.0.1:7780",
		}, told, addr)
	}
}

// TestHosts checks the names under which a server accepts requests.
func TestHosts(t *testing.T) {
	for url, want := range map[string][]string{
		"":                           nil,
		"https://notes.example.test": {"notes.example.test", "notes.example.test:443"},
		"https://a.test:8443":        {"a.test:8443"},
		"https://[2001:db8::1]":      {"[2001:db8::1]", "[2001:db8::1]:443"},
		"http://localhost":           {"localhost", "localhost:80"},
		"http://127.0.0.1:7780":      {"127.0.0.1:7780"},
	} {
		require.Equal(t, want, config.Config{PublicURL: url}.Hosts(), url)
	}
}
