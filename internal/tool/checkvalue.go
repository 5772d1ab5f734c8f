package tool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/rookeryhq/rookery/internal/fault"
)

// valueArgs caches, by struct type, the fields of structs as arguments: reflect.Type to []Arg.
var valueArgs sync.Map

// CheckValue returns a fault of the family if a JSON object would not be valid as the arguments of
// a call whose input has the type of like, a struct. Unknown members are ignored, and null counts
// as missing. All problems are reported together.
func CheckValue(f *Family, object json.RawMessage, like any) error {
	of := reflect.TypeOf(like)
	made, ok := valueArgs.Load(of)
	if !ok {
		made, _ = valueArgs.LoadOrStore(of, argsOfType(of, nil))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return fmt.Errorf("read an object: %w", err)
	}
	t := &Tool{Spec: Spec{Family: f}, Args: made.([]Arg)}
	var problems []*fault.Fault
	for _, a := range t.Args {
		raw, given := members[a.Name]
		switch {
		case given && string(raw) != "null":
			_, wrong := t.checkArg(a, raw)
			problems = append(problems, wrong...)
		case a.Required:
			problems = append(problems, fault.New(f.Missing, "argument %q is missing: %s", a.Name, a.Doc).
				With("argument", a.Name).With("path", a.Name))
		}
	}
	if wrong := fault.Join(f.Several, problems); wrong != nil {
		return wrong
	}
	return nil
}
