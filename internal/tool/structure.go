package tool

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Structure is an argument that is an object or a list as JSON, of which the tool itself says what may be in
// it.
type Structure json.RawMessage

// UnmarshalJSON keeps the JSON.
func (s *Structure) UnmarshalJSON(data []byte) error { return keepJSON(s, data) }

// JSON is an argument of any form, of which the tool itself says what it may be.
type JSON json.RawMessage

// UnmarshalJSON keeps the JSON.
func (j *JSON) UnmarshalJSON(data []byte) error { return keepJSON(j, data) }

// keepJSON keeps JSON as it is.
func keepJSON[T ~[]byte](in *T, data []byte) error {
	*in = append((*in)[:0], data...)
	return nil
}

// MarshalJSON gives back the JSON.
func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

// Inputs are values for the arguments of something that is saved: an object by their names, or a list of
// texts, each name=value, or a value for the next one in order.
type Inputs struct {
	Named map[string]string
	Texts []string
}

// UnmarshalJSON reads either form. Numbers and truths are texts as JSON spells them.
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
