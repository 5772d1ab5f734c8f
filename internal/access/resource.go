package access

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

// A Resource is what the server is to clients of OAuth: a protected resource (RFC 9728). What it says of
// itself it says from this, and never from the connection, whose other end may have made it up. The zero
// value is a server without a public address: it can say that a token is needed, but not where one is.
type Resource struct {
	PublicURL string   // scheme, host and port alone, without a slash at the end; empty: there is none
	Issuers   []string // the authorization servers whose tokens are taken; empty: API tokens only
	Realm     string   // of challenges; empty: "rookery"
}

// WellKnown is the path of the metadata of the whole server. That of the resource at a path is behind it:
// WellKnown/mcp is that of /mcp (RFC 9728 §3.1).
const WellKnown = "/.well-known/oauth-protected-resource"

// lacksScope is the detail of a fault that only the scopes of a token are to blame for; the role that is
// needed is the detail neededRole.
const (
	lacksScope = "insufficient_scope"
	neededRole = "required_role"
)

// metadata is a document of RFC 9728 §2. `offline_access` is not among the scopes: it is none of ours, and
// between the client and its authorization server alone.
type metadata struct {
	Resource      string      `json:"resource"`
	Name          string      `json:"resource_name"`
	Documentation string      `json:"resource_documentation"`
	Servers       []string    `json:"authorization_servers"`
	Scopes        []auth.Role `json:"scopes_supported"`
	Methods       []string    `json:"bearer_methods_supported"`
}

// Metadata is the document about the resource at a path of the server, as JSON; "" is the whole server.
// It is nil if there is none: without a public address nobody can be sent to it, and without issuers there
// is nothing that an OAuth client could do with it.
func (r Resource) Metadata(path string) []byte {
	if !r.described() {
		return nil
	}
	data, err := tool.Marshal(metadata{
		Resource: r.PublicURL + escaped(path), Name: "Rookery", Documentation: r.PublicURL + "/docs",
		Servers: r.Issuers, Scopes: auth.Roles(), Methods: []string{"header"},
	})
	if err != nil {
		return nil // texts alone always marshal
	}
	return data
}

// described reports whether there is metadata.
func (r Resource) described() bool { return r.PublicURL != "" && len(r.Issuers) > 0 }

// Challenge is the header WWW-Authenticate of a refusal, and "" for one that has none (RFC 6750 §3, and
// RFC 9728 §5.1). path is that of the resource whose metadata is named, "" for the whole server; sent says
// whether a token was shown, for a request without one is not told that anything is wrong with it.
//
// What is needed is said in full: who has the scopes of the challenge, may make the call. The scopes are the
// roles, and name those below too.
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

// describe says what is wrong with a token, and no more than its refusal says.
func describe(f *fault.Fault) string {
	if f.Code == fault.TokenExpired {
		return "the token has expired"
	}
	return "the token was not accepted"
}

// scopes are the role that a fault wants, and those below, lowest first.
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

// A challenge is the parts of one, the first with its scheme.
type challenge []string

func (c *challenge) add(name, value string) { *c = append(*c, name+"="+quoted(value)) }

// quoted is a text as a quoted string (RFC 9110 §5.6.4). What cannot stand in a header is left out.
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

// escaped is a path as it stands in a URL.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// Sent reports whether a request shows a token, good or not. Other schemes are none of ours: who uses
// one does not know yet that a token is needed.
func Sent(h http.Header) bool {
	for _, value := range h.Values(authorization) {
		if scheme, _, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Bearer") {
			return true
		}
	}
	return false
}

const authorization = "Authorization"

// OneToken refuses a request that shows two tokens, before anything is asked of them: whoever stands in
// front of us may have looked at the other.
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
