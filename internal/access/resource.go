package access

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Resource describes the server as a protected resource of OAuth (RFC 9728). Its URLs never come
// from the connection, because a client can forge them. The zero value is a server without a public
// address: it can challenge for a token, but does not say where to get one.
type Resource struct {
	PublicURL string   // scheme, host and port only, without a trailing slash; empty: none
	Issuers   []string // URLs of the accepted authorization servers; empty: API tokens only
	Realm     string   // of challenges; empty: "rookery"
}

// WellKnown is the path of the metadata of the whole server. The metadata of the resource at a path
// is at WellKnown plus that path: WellKnown/mcp is that of /mcp (RFC 9728 §3.1).
const WellKnown = "/.well-known/oauth-protected-resource"

// lacksScope is the detail of an error that is caused only by the scopes of the token; the detail
// neededRole is the role that is needed.
const (
	lacksScope = "insufficient_scope"
	neededRole = "required_role"
)

// A metadata is a document of RFC 9728 §2. The scopes do not include offline_access, which concerns
// only the client and its authorization server.
type metadata struct {
	Resource      string      `json:"resource"`
	Name          string      `json:"resource_name"`
	Documentation string      `json:"resource_documentation"`
	Servers       []string    `json:"authorization_servers"`
	Scopes        []auth.Role `json:"scopes_supported"`
	Methods       []string    `json:"bearer_methods_supported"`
}

// Metadata returns the metadata of the resource at a path, in JSON; "" is the whole server. It
// returns nil if there is none, which is the case without a public address or without issuers.
func (r Resource) Metadata(path string) []byte {
	if !r.described() {
		return nil
	}
	data, err := tool.Marshal(metadata{
		Resource: r.PublicURL + escaped(path), Name: "Rookery", Documentation: r.PublicURL + "/docs",
		Servers: r.Issuers, Scopes: auth.Roles(), Methods: []string{"header"},
	})
	if err != nil {
		return nil // strings always marshal
	}
	return data
}

// described reports whether there is metadata.
func (r Resource) described() bool { return r.PublicURL != "" && len(r.Issuers) > 0 }

// Challenge returns the WWW-Authenticate header of a refusal; "" if it has none (RFC 6750 §3, RFC
// 9728 §5.1). path is that of the resource whose metadata is named, "" for the whole server. sent
// reports whether the request had a token: without one, the challenge contains no error.
//
// The challenge lists all scopes that the call needs: the needed role and the ones below it.
func (r Resource) Challenge(path string, f *fault.Fault, sent bool) string {
	c := challenge{`Bearer realm=` + quoted(cmp.Or(r.Realm, "rookery"))}
	switch {
	case f.Status() == fault.StatusUnauthenticated:
		if sent {
			c.add("error", "invalid_token")
			c.add("error_description", describe(f))
		}
		if r.described() {
			c.add("scope", string(auth.Reader))
		}
	case f.Details[lacksScope] == true:
		c.add("error", lacksScope)
		c.add("error_description", "the token has too few scopes")
		c.add("scope", scopes(f))
	default:
		return ""
	}
	if r.described() {
		c.add("resource_metadata", r.PublicURL+WellKnown+escaped(path))
	}
	return strings.Join(c, ", ")
}

// describe returns a description of the error of a token. It says no more than the refusal.
func describe(f *fault.Fault) string {
	if f.Code == fault.TokenExpired {
		return "the token has expired"
	}
	return "the token was not accepted"
}

// scopes returns the role that an error needs and the lower ones, lowest first, separated by
// spaces.
func scopes(f *fault.Fault) string {
	need, _ := f.Details[neededRole].(auth.Role)
	var all []string
	for _, role := range auth.Roles() {
		if need.Allows(role) {
			all = append(all, string(role))
		}
	}
	return strings.Join(all, " ")
}

// A challenge contains the parts of a challenge; the first one includes the scheme.
type challenge []string

// add appends a parameter.
func (c *challenge) add(name, value string) { *c = append(*c, name+"="+quoted(value)) }

// quoted returns a quoted string (RFC 9110 §5.6.4). Characters outside printable ASCII are dropped,
// so that no text can end the header.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~':
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escaped returns a path as encoded in a URL.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// HasBearerToken reports whether a request has a Bearer token, valid or not. Other schemes are ignored: such
// a client does not know yet that a token is required.
func HasBearerToken(h http.Header) bool {
	for _, value := range h.Values(authorization) {
		if scheme, _, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Bearer") {
			return true
		}
	}
	return false
}

// authorization is the name of the header with the token.
const authorization = "Authorization"

// OneToken refuses a request with several Authorization headers before next is called, because a
// proxy may have checked another one than we would.
func OneToken(
	next func(*http.Request) (auth.Caller, error),
) func(*http.Request) (auth.Caller, error) {
	return func(r *http.Request) (auth.Caller, error) {
		if len(r.Header.Values(authorization)) > 1 {
			return auth.Caller{}, auth.Refused()
		}
		return next(r)
	}
}
