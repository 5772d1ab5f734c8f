package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// memories reads an export of Mem0: a list of memories, or an object with a list `memories` or
// `results`. An element that is not an object is refused.
func (r reader) memories() error {
	all, err := r.list("memories", "results",
		"the file has no memories: it must be a list, or an object with a list memories or results")
	if err == nil {
		r.each("memory", all, r.mem0)
	}
	return err
}

// list returns the elements of a file that is a list, or an object with the list name or other.
// missing is the message for any other file.
func (r reader) list(name, other, missing string) ([]json.RawMessage, error) {
	raw, err := r.parse()
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	o, ok := readObject(raw)
	if !ok {
		ok = json.Unmarshal(raw, &all) == nil
	} else if all, ok = o.list(name); !ok {
		all, ok = o.list(other)
	}
	if !ok {
		return nil, r.fault(0, "%s", missing)
	}
	return all, nil
}

// each calls read with each element that is an object, and its position in the export. Any other
// element is refused; what names an element.
func (r reader) each(what string, all []json.RawMessage, read func(o object, i int)) {
	for i, raw := range all {
		if o, ok := readObject(raw); ok {
			read(o, r.Offset+i)
		} else {
			r.refuse(fault.New(fault.InvalidParameter, "%s %s is not an object", what, r.ordinal(i)))
		}
	}
}

// mem0 adds the note of one memory of Mem0. A memory without a text becomes a code block with its
// JSON. i is its position, used as its id if it has none. The metadata of a memory is used only for
// its id and its time.
func (r reader) mem0(o object, i int) {
	meta := o.object("metadata")
	id := cmp.Or(o.text("id", "memory_id"), meta.text("id"), fmt.Sprintf("mem0_%d", i))
	body := o.text("memory", "content", "text")
	if body == "" {
		body = fenced(o.raw)
	}
	r.add(Note{
		Source: "mem0", SourceID: truncate(id, maxID), Path: "mem0_" + plainID(id, 40) + ".md", Body: body,
		Date: firstDay(o.value("created_at"), o.value("updated_at"), meta.value("created_at")),
	})
}

// mif reads a file of the Memory Interchange Format: Markdown, or JSON with one memory. The fields
// of the frontmatter of a JSON file become fields of the note. A memory without a text becomes a
// code block with its JSON.
func (r reader) mif() error {
	if !strings.EqualFold(path.Ext(r.Path), ".json") {
		return r.markdown("mif")
	}
	raw, err := r.parse()
	if err != nil {
		return err
	}
	o, ok := readObject(raw)
	if !ok {
		return r.fault(0, "the file must be an object: a memory with content")
	}
	// The fields are in metadata or in frontmatter.
	head := o.object("metadata")
	if len(head.names) == 0 {
		head = o.object("frontmatter")
	}
	body := o.text("content", "body", "text")
	if body == "" {
		body = fenced(raw)
	}
	n := Note{
		Source: "mif", Path: withoutMIF(r.Path) + ".md", Body: body,
		SourceID: truncate(
			cmp.Or(o.text("mif:id", "@id", "id"), head.text("source_id", "mif:id", "id"), withoutMIF(r.Path)),
			maxRowID),
		Date: firstDay(head.value("date"), head.value("created"), o.value("date"), o.value("created"),
			o.value("created_at")),
	}
	if title := cmp.Or(line(o.text("title")), line(head.text("title"))); title != "" {
		n.Fields = append(n.Fields, markdown.Field{Key: "title", Value: truncate(title, maxTitle)})
	}
	for _, name := range head.names {
		if f, ok := fieldOf(name, head.members[name]); ok {
			n.Fields = append(n.Fields, f)
		}
	}
	r.add(n)
	return nil
}

// withoutMIF returns the path of a file without the extensions of the format: a.memory.md and a.md
// both become a.
func withoutMIF(file string) string {
	file = strings.TrimSuffix(file, path.Ext(file))
	if strings.EqualFold(path.Ext(file), ".memory") {
		file = strings.TrimSuffix(file, path.Ext(file))
	}
	return file
}

// fieldOf returns a member as a field of frontmatter. A value that a field cannot contain becomes a
// JSON text on one line. ok is false for members that the import sets itself, and for null and "".
func fieldOf(name string, raw json.RawMessage) (markdown.Field, bool) {
	switch name {
	case "source", "source_id", "date", "title", "mif:id":
		return markdown.Field{}, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a field keeps all digits of an id
	if d.Decode(&v) != nil || v == nil || v == "" {
		return markdown.Field{}, false
	}
	if !isPlain(v) {
		v = compact(raw)
	}
	return markdown.Field{Key: name, Value: v}, true
}

// isPlain reports whether frontmatter can contain a value: a scalar, or a list of scalars other
// than null.
func isPlain(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return false
	case []any:
		for _, item := range v {
			if _, list := item.([]any); list || item == nil || !isPlain(item) {
				return false
			}
		}
	}
	return true
}
