package tool

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Structure is an argument that is a JSON object or list. The tool itself checks its contents.
type Structure json.RawMessage

// UnmarshalJSON stores the JSON in its compact form.
func (s *Structure) UnmarshalJSON(data []byte) error { return keepJSON(s, data) }

// JSON is an argument of any JSON type. The tool itself checks its value.
type JSON json.RawMessage

// UnmarshalJSON stores the JSON in its compact form.
func (j *JSON) UnmarshalJSON(data []byte) error { return keepJSON(j, data) }

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
