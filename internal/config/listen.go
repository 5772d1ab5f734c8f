package config

import (
	"net"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
)

// OnLoopback reports whether only programs of this machine can reach the listener. The default
// address is on loopback.
func (c Config) OnLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return c.Listen == "" || err == nil && loopbackHost(host)
}

// Local reports whether authentication is off, so that every client is the principal `local`
// (CONTRACT §4, team). That is so only on loopback, and only if nothing is configured that is of
// use to clients elsewhere: issuers, a public URL, proxies or tokens. hasTokens reports whether the
// tenant `local` has API tokens.
func (c Config) Local(hasTokens bool) bool {
	return c.OnLoopback() && len(c.Issuers) == 0 && c.PublicURL == "" &&
		len(c.TrustedProxies) == 0 && !hasTokens
}

// Check returns a *fault.Fault, INVALID_PARAMETER, if the server must not listen on its address, or
// cannot. Elsewhere than on loopback it must authenticate callers, tokens must not be readable on
// their way, and it must have a public URL. hasTokens reports whether the tenant `local` has API
// tokens. It reports all problems at once, each with several ways to correct it.
func (c Config) Check(hasTokens bool) error {
	if c.OnLoopback() {
		return nil
	}
	if !validAddress(c.Listen) {
		return fault.New(fault.InvalidParameter, "--listen must be HOST:PORT").
			Fix("--listen 127.0.0.1:7780")
	}
	var problems []*fault.Fault
	if len(c.Issuers) == 0 && !hasTokens {
		problems = append(problems, refusal("no authentication is configured").
			Fix("add issuers, whose tokens are accepted").
			Fix("or make an API token first, while the server listens on loopback").
			Fix("or listen: 127.0.0.1:7780"))
	}
	if c.TLS == (TLS{}) && len(c.TrustedProxies) == 0 {
		problems = append(problems, refusal("tokens and notes would go over plain HTTP").
			Fix("tls: {cert: cert.pem, key: key.pem}").
			Fix("or, if a proxy terminates TLS, its address: trusted_proxies: [10.0.0.5]"))
	}
	if c.PublicURL == "" {
		problems = append(problems, refusal("the public URL of the server is not configured").
			Fix("public_url: https://notes.example.com"))
	}
	return fault.Join(fault.InvalidParameter, problems).Err()
}

// refusal returns the fault of a listener that is not on loopback.
func refusal(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "the server can listen on loopback only: %s", why)
}

// Proxies returns the trusted proxies, for the checks of requests. Without proxies, only requests
// over TLS or from loopback are trusted.
func (c Config) Proxies() forwarded.Proxies { return forwarded.Proxies{Trusted: c.TrustedProxies} }
