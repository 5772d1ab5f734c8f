package tool

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// fill decodes arguments into the fields of a struct, to which in points, by their names in JSON.
// An argument without a field is ignored. The result is that of encoding/json for an object of the
// arguments, which need not be built and read again for it.
func fill(args map[string]json.RawMessage, in any) error {
	v := reflect.ValueOf(in).Elem()
	fields := fieldsByName(v.Type())
	for name, raw := range args {
		at, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, v.FieldByIndex(at).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// namedFields caches the results of fieldsByName: reflect.Type to map[string][]int.
var namedFields sync.Map

// fieldsByName returns the index of each field of a struct, and of the structs it embeds, by its
// name in JSON. A field of the struct itself hides those of embedded ones.
func fieldsByName(t reflect.Type) map[string][]int {
	if known, ok := namedFields.Load(t); ok {
		return known.(map[string][]int)
	}
	fields, own := map[string][]int{}, map[string][]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		if embeds(field) {
			for name, at := range fieldsByName(field.Type) {
				fields[name] = append([]int{i}, at...)
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && name != "-" {
			own[name] = []int{i}
		}
	}
	for name, at := range own {
		fields[name] = at
	}
	namedFields.Store(t, fields)
	return fields
}
