package localapp_test

import (
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
)

// TestEveryArgumentIsBounded checks that the schema of each argument of each tool limits the size
// of the value, down to the entries of lists and the members of objects.
func TestEveryArgumentIsBounded(t *testing.T) {
	t.Parallel()
	for _, made := range allTools() {
		for _, a := range made.Args {
			for _, missing := range unbounded(a.Schema()) {
				assert.Fail(t, "an argument without a bound", "%s %s: %s", made.Name, a.Name, missing)
			}
		}
	}
}

// unbounded returns the limits that a schema, or a schema within it, lacks.
func unbounded(s *jsonschema.Schema) (missing []string) {
	need := func(ok bool, bound string) {
		if !ok {
			missing = append(missing, bound)
		}
	}
	for _, kind := range append([]string{s.Type}, s.Types...) {
		switch kind {
		case "string":
			need(s.MaxLength != nil || len(s.Enum) > 0, "maxLength")
		case "array":
			need(s.MaxItems != nil && s.Items != nil, "maxItems")
		case "object":
			need(s.MaxProperties != nil && s.PropertyNames != nil || len(s.Properties) > 0, "maxProperties")
		}
	}
	need(s.Type != "" || len(s.Types) > 0, "type")
	for _, inner := range s.Properties {
		missing = append(missing, unbounded(inner)...)
	}
	if s.Items != nil {
		missing = append(missing, unbounded(s.Items)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		missing = append(missing, unbounded(s.AdditionalProperties)...)
	}
	return missing
}
