package config

import (
	"fmt"
	"strconv"
	"strings"
)

// A loader fills a Config. Its embedded reader has the problems found so far. places has the
// position of each key that has a value.
type loader struct {
	reader
	Config

	env     func(string) string
	proxies []string        // as they are written
	bad     map[string]bool // names of list entries that already have a problem
}

// A field is a key and the destination of its value: a *string, *int, *int64, *Size, *bool,
// *[]string, *map[string]string, *[]Issuer or *[]Admin. A field with fields is a mapping of them,
// without a destination. The file and the environment are read from the same list of fields, so a
// key has one definition.
type field struct {
	key    string
	into   any
	fields []field
}

// fields returns the top-level keys of the file.
func (l *loader) fields() []field {
	return []field{
		{key: "listen", into: &l.Listen},
		{key: "data", into: &l.Data},
		{key: "public_url", into: &l.PublicURL},
		{key: "tls", fields: []field{{key: "cert", into: &l.TLS.Cert}, {key: "key", into: &l.TLS.Key}}},
		{key: "trusted_proxies", into: &l.proxies},
		{key: "issuers", into: &l.Issuers},
		{key: "first_admin", into: &l.FirstAdmins},
		{key: "limits", fields: []field{
			{key: "mutations_per_minute", into: &l.Limits.MutationsPerMinute},
			{key: "reads_per_minute", into: &l.Limits.ReadsPerMinute},
			{key: "vault_indexed", into: &l.Limits.VaultIndexed},
		}},
		{key: "readonly", into: &l.ReadOnly},
		{key: "metrics_listen", into: &l.MetricsListen},
		{key: "cors_origins", into: &l.CORSOrigins},
		{key: "max_calls", into: &l.MaxCalls},
		{key: "memory", into: &l.Memory},
		{key: "max_connections", into: &l.MaxConnections},
	}
}

// issuerFields returns the keys of an issuer.
func issuerFields(i *Issuer) []field {
	return []field{
		{key: "issuer", into: &i.Issuer},
		{key: "audience", into: &i.Audience},
		{key: "jwks_url", into: &i.JWKSURL},
		{key: "algorithms", into: &i.Algorithms},
		{key: "tenant_claim", into: &i.TenantClaim},
		{key: "roles_claim", into: &i.RolesClaim},
		{key: "client_id", into: &i.ClientID},
		{key: "claims", into: &i.Claims},
		{key: "role", into: (*string)(&i.Role)},
		{key: "tenant", into: &i.Tenant},
	}
}

// adminFields returns the keys of a first admin.
func adminFields(a *Admin) []field {
	return []field{
		{key: "issuer", into: &a.Issuer},
		{key: "subject", into: &a.Subject},
		{key: "tenant", into: &a.Tenant},
	}
}

// file reads the file. name is its name in positions. An empty file has no keys.
func (l *loader) file(name string, text []byte) {
	if root := l.document(place{file: name}, text); root != nil {
		l.mapping(value{node: root, at: place{name, root.Line}}, l.fields(), l.assign)
	}
}

// assign converts a value and stores it in the destination of its field, and records its position.
// An invalid value is reported, and the destination gets a zero value. The type of into must be one
// of those listed at field.
func (l *loader) assign(v value, into any) {
	l.places[v.name] = v.at
	switch into := into.(type) {
	case *string:
		*into = l.text(v)
	case *int:
		*into = l.number(v)
	case *int64:
		*into = l.large(v)
	case *Size:
		*into = l.size(v)
	case *bool:
		*into = l.flag(v)
	case *[]string:
		*into = l.texts(v)
	case *map[string]string:
		*into = l.conditions(v)
	case *[]Issuer:
		*into = each(l, v, issuerFields)
	case *[]Admin:
		*into = each(l, v, adminFields)
	}
}

// each returns the values of a list of mappings. An entry with a problem is marked as bad, so that
// later checks do not report what follows from that problem, and is returned as far as it could be
// read.
func each[T any](l *loader, v value, fields func(*T) []field) []T {
	var all []T
	for _, entry := range l.list(v) {
		var t T
		l.places[entry.name] = entry.at
		before := len(l.problems)
		l.mapping(entry, fields(&t), l.assign)
		l.bad[entry.name] = len(l.problems) > before
		all = append(all, t)
	}
	return all
}

// environment reads the variables, which override the file.
func (l *loader) environment() { l.lookUp("", l.fields()) }

// lookUp reads the variables of these fields. above is the prefix of their names. An empty variable
// counts as missing.
func (l *loader) lookUp(above string, fields []field) {
	for _, f := range fields {
		name := above + f.key
		if f.fields != nil {
			l.lookUp(name+".", f.fields)
			continue
		}
		variable := variables + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		if text := l.env(variable); text != "" {
			l.variable(value{name: name, at: place{file: variable}}, text, f.into)
		}
	}
}

// variable reads one variable. It replaces the value of the file, with the positions of everything
// below it. A boolean is parsed as by strconv.ParseBool, a text is taken as it is, a list may be
// separated by commas, and every other value is YAML.
func (l *loader) variable(v value, text string, into any) {
	l.forget(v.name)
	switch into := into.(type) {
	case *string:
		v.node = scalar(text)
	case *bool:
		l.places[v.name] = v.at
		on, err := strconv.ParseBool(text)
		if err != nil {
			l.report(v.at, "%s must be true or false", v.name)
		}
		*into = on
		return
	case *[]string:
		if !strings.HasPrefix(strings.TrimSpace(text), "[") && !strings.Contains(text, "\n") {
			text = quoted(strings.Split(text, ","))
		}
		v.node = l.document(v.at, []byte(text))
	default:
		v.node = l.document(v.at, []byte(text))
	}
	if v.node != nil {
		l.assign(v, into)
	}
}

// quoted returns a YAML list of texts, each without the space around it. It is the form of a
// variable with commas.
func quoted(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, strconv.QuoteToASCII(strings.TrimSpace(t)))
	}
	return fmt.Sprintf("[%s]", strings.Join(all, ", "))
}
