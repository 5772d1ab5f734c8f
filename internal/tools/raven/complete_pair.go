package raven

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// pairs returns suggestions for a text of the form name=value: names with an equals sign or, after
// an equals sign, names with values. It returns none if the object, type or trait does not exist.
//
// The name part must match a declared name exactly once there is an equals sign; before that
// pickWords selects the names by their prefix.
func (v view) pairs(in completeIn) ([]string, error) {
	s, err := state.Schema(v.Index)
	if err != nil {
		return nil, err
	}
	var fields map[string]*vault.Field
	switch in.Kind {
	case kindTypeField:
		fields = fieldsOfType(s, in.Of)
	case kindTraitValue:
		fields = v.valuesOf(s, in.Of)
	default:
		fields = v.fieldsOf(s, in.Of)
	}
	name, _, valued := strings.Cut(in.Prefix, "=")
	if !valued {
		var names []string
		for name := range fields {
			names = append(names, name+"=")
		}
		return names, nil
	}
	var pairs []string
	for _, value := range v.valuesFor(fields[name], in.Prefix[len(name)+1:]) {
		pairs = append(pairs, name+"="+value)
	}
	return pairs, nil
}

// fieldsOf returns the fields that the object with an id has or can have, by name. The id can also
// be that of a trait.
//
// Fields that the object has and its type does not declare are included without a type, so only
// their names are suggested.
func (v view) fieldsOf(s *vault.Schema, id string) map[string]*vault.Field {
	o, err := locate(v.Index, id, v.Clock)
	if err != nil {
		return v.valuesOf(s, id)
	}
	fields := fieldsOfType(s, o.Type())
	for _, own := range o.Fields() {
		if _, declared := fields[own.Name]; !declared {
			fields[own.Name] = &vault.Field{Name: own.Name}
		}
	}
	return fields
}

// fieldsOfType returns the fields of a type by name; none if the type does not exist.
func fieldsOfType(s *vault.Schema, name string) map[string]*vault.Field {
	fields := map[string]*vault.Field{}
	if t, ok := s.Type(name); ok {
		for _, f := range t.Fields {
			fields[f.Name] = f
		}
	}
	return fields
}

// valuesOf returns all traits of the schema as fields of the line of a trait, by name. The name
// value is an alias of the trait with the given id.
func (v view) valuesOf(s *vault.Schema, id string) map[string]*vault.Field {
	fields := map[string]*vault.Field{}
	t, _, err := findTrait(v.Index, id)
	if err != nil {
		return fields
	}
	for _, other := range s.Traits {
		fields[other.Name] = &other.Field
		if other.Name == t.Type {
			fields["value"] = &other.Field
		}
	}
	return fields
}

// valuesFor returns the possible values of a field that begin with a prefix, or all of a small set.
// It returns nil if the type of the field does not determine them.
func (v view) valuesFor(f *vault.Field, prefix string) []string {
	if f == nil {
		return nil
	}
	switch strings.TrimSuffix(f.Type, "[]") {
	case "enum":
		return slices.Clone(f.Values)
	case "bool":
		return []string{"true", "false"}
	case "date":
		return vault.DayWords()
	case "ref":
		return idsOf(v.Index, f.Target, prefix)
	}
	return nil
}

// maxIDs is the maximum number of ids that idsOf returns.
//
// The suggestions are sorted and paged afterwards, so this also limits the memory of a call.
const maxIDs = 1000

// idsOf returns the ids of the notes of a type that begin with a prefix, in order. An empty type
// selects all notes.
func idsOf(idx *index.Index, typ, prefix string) []string {
	notes := idx.Notes(prefix)
	if typ != "" {
		notes = idx.OfType(typ, prefix)
	}
	var ids []string
	for n := range notes {
		if len(ids) == maxIDs || !strings.HasPrefix(n.ID, prefix) {
			break
		}
		ids = append(ids, n.ID)
	}
	return ids
}
