package tool

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// Vault is embedded in the input of every tool that works on one vault.
type Vault struct {
	Vault string `json:"vault,omitempty" complete:"vault" jsonschema:"name of the vault; optional if you see exactly one"`
}

// AsOf is embedded in the input of every tool that reads a vault, and can read it as it was.
type AsOf struct {
	AsOf string `json:"as_of,omitempty" rare:"true" jsonschema:"as of v42, or of a time"`
}

// Page is embedded in the input of every tool that answers a list.
type Page struct {
	Limit     int    `json:"limit,omitempty" default:"50" min:"1" max:"200" means:"limit" jsonschema:"items of a page"`
	PageToken string `json:"page_token,omitempty" size:"token" means:"token" jsonschema:"meta.next_page_token of the page before"`
}

// Mutation is embedded in the input of every tool that changes a vault or the tenant.
type Mutation struct {
	IfVersion      string `json:"if_version,omitempty" means:"version" jsonschema:"CONFLICT if what is touched changed after this version (v42)"`
	IdempotencyKey string `json:"idempotency_key,omitempty" means:"key" rare:"true" max:"255" jsonschema:"any text; a repeated call has one effect"`
	DryRun         bool   `json:"dry_run,omitempty" means:"dry" rare:"true" jsonschema:"show the plan, change nothing"`

	Marked
}

// Version is the version that the call builds on, as text; empty: none.
func (m *Mutation) Version() string { return m.IfVersion }

// Key is the idempotency key; empty: none.
func (m *Mutation) Key() string { return m.IdempotencyKey }

// Dry reports whether the call only shows its plan.
func (m *Mutation) Dry() bool { return m.DryRun }

// Marked is embedded in the input of every mutation. A family that spells the arguments of Mutation
// differently embeds a struct of its own that embeds Marked and has the methods of Mutation.
type Marked struct {
	tool   string
	digest Digest
}

// Brief is embedded in the input of every mutation whose answer can leave out the whole of what it
// changed (CONTRACT §1).
type Brief struct {
	Slim bool `json:"slim,omitempty" digest:"-" rare:"true" jsonschema:"answer without the whole object or trait"`
}

// SlimArg is the argument of Brief.
const SlimArg = "slim"

// Briefs reports whether the tool is a mutation that takes the argument of Brief.
func (t *Tool) Briefs() bool {
	_, ok := t.Arg(SlimArg)
	return ok && t.Kind.Mutates()
}

// A Digest is the sha256 of a request: of the tool's name and of all arguments but those that only
// say how to carry it out: the idempotency key, and those with the tag `digest:"-"`.
type Digest [sha256.Size]byte

// Operation is the name of the tool whose input this is.
func (m *Marked) Operation() string { return m.tool }

// Request is the digest of the call. Two calls with the same idempotency key must have the same.
func (m *Marked) Request() Digest { return m.digest }

// mark is called once the input is decoded.
func (m *Marked) mark(tool string, d Digest) { m.tool, m.digest = tool, d }

// marked is implemented by every input that embeds a Marked.
type marked interface{ mark(string, Digest) }

// digest returns the same value for the same arguments, in any order and spelling of names. It leaves
// out the arguments that do not change what the call does.
func (t *Tool) digest(args map[string]json.RawMessage) Digest {
	rest := map[string]any{}
	for name, raw := range args {
		if a, _ := t.Arg(name); a.Means == MeansKey || a.Undigested {
			continue
		}
		var v any
		if json.Unmarshal(raw, &v) == nil {
			rest[name] = v
		}
	}
	canonical, err := json.Marshal(rest)
	if err != nil {
		panic(fmt.Sprintf("tool: arguments of %s do not marshal again: %v", t.Name, err))
	}
	return sha256.Sum256(append([]byte(t.Name+"\x00"), canonical...))
}

// shared are the arguments that every tool takes (CONTRACT §3). They are no business of the tool.
type shared struct {
	AgentID  string   `json:"agent_id,omitempty" max:"128" jsonschema:"which agent acts"`
	Session  string   `json:"session,omitempty" max:"128" jsonschema:"of view state"`
	Only     []string `json:"only,omitempty" jsonschema:"fields of each item to keep"`
	Envelope *bool    `json:"envelope,omitempty" default:"true" jsonschema:"false: answer the bare data"`
}

// Fields is an argument that gives named values: a JSON object, whose values have their JSON types,
// or "name=value" strings, one or a list of them, whose values are Text. A name that is given more
// than once has the list of its values.
type Fields map[string]any

// Text is a value as a person typed it: what it means depends on the field that it is for.
type Text string

// UnmarshalJSON reads either form.
func (f *Fields) UnmarshalJSON(data []byte) error {
	var object map[string]any
	if json.Unmarshal(data, &object) == nil {
		*f = object
		return nil
	}
	var pairs []string
	if json.Unmarshal(data, &pairs) != nil {
		var one string
		if err := json.Unmarshal(data, &one); err != nil {
			return fmt.Errorf("neither an object nor name=value: %w", err)
		}
		pairs = []string{one}
	}
	*f = Fields{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return fmt.Errorf("not of the form name=value")
		}
		f.add(strings.TrimSpace(name), Text(value))
	}
	return nil
}

// add gives a name one more value.
func (f *Fields) add(name string, value Text) {
	switch before := (*f)[name].(type) {
	case nil:
		(*f)[name] = value
	case []any:
		(*f)[name] = append(before, value)
	default:
		(*f)[name] = []any{before, value}
	}
}
