package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Vault is embedded in the input of every tool that works on one vault.
type Vault struct {
	// name of the vault; optional if you see exactly one
	Vault string `json:"vault,omitempty" complete:"vault"`
}

// VaultName returns the name of the vault.
func (v Vault) VaultName() string { return v.Vault }

// AsOf is embedded in the input of every tool that can read an earlier state of a vault. The zero
// value means the newest state.
type AsOf struct {
	// the state at a version (v42) or a time
	AsOf string `json:"as_of,omitempty" rare:"true"`
}

// State returns a, so that code for all inputs that embed it can read it.
func (a AsOf) State() AsOf { return a }

// Page is embedded in the input of every tool that answers with a paged list.
type Page struct {
	// items of a page
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200" means:"limit"`
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" size:"token" means:"token"`
}

// Requested returns p, so that code for all inputs that embed it can read it.
func (p Page) Requested() Page { return p }

// Mutation is embedded in the input of every tool that changes a vault or the tenant. A family that
// spells these arguments differently uses a struct of its own; see Marked.
type Mutation struct {
	// CONFLICT if an affected note changed after this version (v42)
	IfVersion string `json:"if_version,omitempty" means:"version"`
	// any text; a repeated call has one effect
	IdempotencyKey string `json:"idempotency_key,omitempty" means:"key" rare:"true" max:"255"`
	// show the plan, change nothing
	DryRun bool `json:"dry_run,omitempty" means:"dry" rare:"true"`

	Marked
}

// Version returns the version that the call builds on, such as "v42", or "" for none.
func (m *Mutation) Version() string { return m.IfVersion }

// Key returns the idempotency key, or "" for none.
func (m *Mutation) Key() string { return m.IdempotencyKey }

// Dry reports whether the call only shows its plan.
func (m *Mutation) Dry() bool { return m.DryRun }

// Marked is embedded in the input of every mutation. A family that spells the arguments of Mutation
// differently embeds a struct of its own that embeds Marked and has the methods of Mutation.
type Marked struct {
	tool   string
	digest Digest
}

// Brief is embedded in the input of every mutation whose answer can omit the full content of the
// changed object (CONTRACT §1).
type Brief struct {
	// omit the whole object or trait from the answer
	Slim bool `json:"slim,omitempty" digest:"-" rare:"true"`
}

// SlimArg is the name of Brief's argument.
const SlimArg = "slim"

// Briefs reports whether the tool is a mutation that takes SlimArg.
func (t *Tool) Briefs() bool {
	_, ok := t.Arg(SlimArg)
	return ok && t.Kind.Mutates()
}

// A Digest is the SHA-256 of a request: of the tool's name and all arguments that change what the
// call does. The idempotency key and arguments with the tag `digest:"-"` are not part of it.
type Digest [sha256.Size]byte

// Operation returns the name of the tool whose input this is.
func (m *Marked) Operation() string { return m.tool }

// Request returns the digest of the call. Two calls with the same idempotency key must have equal
// digests.
func (m *Marked) Request() Digest { return m.digest }

// mark sets the tool's name and the digest. Tool.decode calls it after the input is filled.
func (m *Marked) mark(tool string, d Digest) { m.tool, m.digest = tool, d }

// marked is implemented by every input that embeds a Marked.
type marked interface{ mark(string, Digest) }

// digest returns the Digest of a call with these arguments, which are decoded and keyed by
// canonical name. It does not depend on the order of arguments or on the formatting of their JSON.
func (t *Tool) digest(values map[string]any) Digest {
	rest := map[string]any{}
	for name, v := range values {
		if a, _ := t.Arg(name); a.Means != MeansKey && !a.Undigested {
			rest[name] = v
		}
	}
	canonical, err := json.Marshal(rest)
	if err != nil {
		panic(fmt.Sprintf("tool: arguments of %s do not marshal again: %v", t.Name, err))
	}
	return sha256.Sum256(append([]byte(t.Name+"\x00"), canonical...))
}

// A shared contains the arguments that every tool accepts (CONTRACT §3). The catalogue handles
// them; tools do not see them.
type shared struct {
	// id of the acting agent
	AgentID string `json:"agent_id,omitempty" max:"128"`
	// id of the session, for tree views
	Session string `json:"session,omitempty" max:"128"`
	// fields of each item to keep
	Only []string `json:"only,omitempty"`
	// false: answer the bare data
	Envelope *bool `json:"envelope,omitempty" default:"true"`
}

// Fields is an argument that maps names to values. Its JSON is an object, whose values keep their
// JSON types, or one "name=value" string or a list of them, whose values become Text. A name that
// occurs several times in such a list maps to a []any of its values.
type Fields map[string]any

// Text is an untyped value as a person wrote it. Its interpretation depends on the field that it
// sets.
type Text string

// UnmarshalJSON reads an object, a list of "name=value" strings, or one such string. Values of
// strings keep the type Text, because only the schema of a vault determines their types. A name
// that occurs more than once has the list of its values. Numbers are float64, and json.Number where
// that would change them.
func (f *Fields) UnmarshalJSON(data []byte) error {
	if decoded, err := JSON(data).Value(); err == nil {
		if object, ok := decoded.(map[string]any); ok || decoded == nil {
			*f = object
			return nil
		}
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

// withFloats returns a decoded value with its numbers as float64. A number that is too large, and a
// whole one that float64 cannot represent, stay as they are: ids of 64 bits must not lose digits.
func withFloats(value any) any {
	switch v := value.(type) {
	case json.Number:
		digits := v.String()
		f, err := v.Float64()
		// With no decimals, the text of a float64 has all of its digits.
		if err == nil && (!wholeNumber.MatchString(digits) || strconv.FormatFloat(f, 'f', 0, 64) == digits) {
			return f
		}
	case []any:
		for i := range v {
			v[i] = withFloats(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withFloats(v[name])
		}
	}
	return value
}

// wholeNumber matches a number that is written as an integer.
var wholeNumber = regexp.MustCompile(`^-?\d+$`)

// add adds a value under a name. A name with more than one value has a []any.
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

// A Structure is an argument that is a JSON object or list. The tool itself checks its contents.
type Structure json.RawMessage

// UnmarshalJSON stores the JSON in its compact form.
func (s *Structure) UnmarshalJSON(data []byte) error { return keepJSON(s, data) }

// JSON is an argument of any JSON type. The tool itself checks its value.
type JSON json.RawMessage

// UnmarshalJSON stores the JSON in its compact form.
func (j *JSON) UnmarshalJSON(data []byte) error { return keepJSON(j, data) }

// Value returns the decoded value. Numbers are float64, and json.Number where that would change
// them.
func (j JSON) Value() (any, error) {
	var value any
	exact := json.NewDecoder(bytes.NewReader(j))
	exact.UseNumber()
	if err := exact.Decode(&value); err != nil {
		return nil, fmt.Errorf("read a value: %w", err)
	}
	return withFloats(value), nil
}

// keepJSON stores data in *in, without whitespace between its tokens.
func keepJSON[T ~[]byte](in *T, data []byte) error {
	*in = T(compact(data))
	return nil
}

// MarshalJSON returns the JSON unchanged.
func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

// Inputs are values for the arguments of a saved item. Their JSON is an object by name, stored in
// Named, or a list of texts, stored in Texts: each is name=value, or the value of the next argument
// in order.
type Inputs struct {
	Named map[string]string
	Texts []string
}

// UnmarshalJSON reads either form. Numbers and booleans become their JSON text.
func (i *Inputs) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &i.Texts) == nil {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("neither an object nor a list of texts: %w", err)
	}
	i.Named = map[string]string{}
	for name, raw := range object {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		i.Named[name] = text
	}
	return nil
}

// IsEmpty reports whether no value is given.
func (i Inputs) IsEmpty() bool { return len(i.Named)+len(i.Texts) == 0 }

// Schemas of the types of this file. Structure and JSON have no schema for their contents, only
// bounds.
var (
	structureSchema = &jsonschema.Schema{
		Types: []string{"object", "array"}, MaxItems: new(MaxEntries), MaxProperties: new(MaxEntries),
		PropertyNames: &jsonschema.Schema{MaxLength: new(MaxName)},
		Items: &jsonschema.Schema{
			Type: "object", MaxProperties: new(MaxEntries), PropertyNames: &jsonschema.Schema{MaxLength: new(MaxName)},
		},
	}
	jsonSchema = &jsonschema.Schema{
		Types:     []string{"object", "array", "string", "number", "boolean", "null"},
		MaxLength: new(MaxText), MaxItems: structureSchema.MaxItems, MaxProperties: structureSchema.MaxProperties,
		PropertyNames: structureSchema.PropertyNames,
		Items: &jsonschema.Schema{
			Types:     []string{"object", "string", "number", "boolean"},
			MaxLength: new(MaxText), MaxProperties: new(MaxEntries), PropertyNames: structureSchema.PropertyNames,
		},
	}
	inputsSchema = &jsonschema.Schema{
		Types: []string{"object", "array"}, MaxItems: new(MaxEntries), MaxProperties: new(MaxEntries),
		PropertyNames: &jsonschema.Schema{MaxLength: new(MaxName)},
		AdditionalProperties: &jsonschema.Schema{
			Types: []string{"string", "number", "boolean"}, MaxLength: new(MaxQuery),
		},
		Items: &jsonschema.Schema{Type: "string", MaxLength: new(MaxQuery)},
	}
)

// An Instant is an argument that is a point in time: a number of seconds or milliseconds since
// 1970, or a text in the format of RFC 3339. The zero value means that it is not given.
type Instant struct{ text string }

// maxInstant is the maximum length of an Instant as text, in characters.
const maxInstant = 64

// firstMilliseconds is the smallest number that an Instant reads as milliseconds rather than
// seconds. As seconds it is in the year 5138, as milliseconds in March 1973.
const firstMilliseconds = 1e11

// UnmarshalJSON stores a number or a text. Milliseconds interprets it.
func (i *Instant) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), `"`) {
		return json.Unmarshal(data, &i.text)
	}
	i.text = string(data)
	return nil
}

// MarshalJSON returns the value as a JSON string.
func (i Instant) MarshalJSON() ([]byte, error) { return json.Marshal(i.text) }

// IsZero reports whether the argument is not given.
func (i Instant) IsZero() bool { return i.text == "" }

// Milliseconds returns the time in milliseconds since 1970, or 0 if the argument is not given. For
// an invalid value it returns a fault with the family's Malformed code; arg is the argument's name
// in it.
func (i Instant) Milliseconds(f *Family, arg string) (int64, error) {
	if i.IsZero() {
		return 0, nil
	}
	n, err := strconv.ParseFloat(i.text, 64)
	if err == nil && json.Valid([]byte(i.text)) && n >= 0 && n < math.MaxInt64/2 {
		if n < firstMilliseconds {
			n *= 1000
		}
		return int64(n), nil
	}
	t, err := time.Parse(time.RFC3339Nano, i.text)
	if err != nil {
		return 0, fault.New(f.Malformed, "argument %q must be a time: seconds or milliseconds since 1970, or a text "+
			"such as 2026-03-02T08:00:00Z", arg).With("argument", arg)
	}
	return t.UnixMilli(), nil
}
