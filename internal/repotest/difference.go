package repotest

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
)

// difference says in words in what an index is not that of an image.
func difference(image []byte, x *index.Index) string {
	was, err := index.ReadImage(image)
	if err != nil {
		return err.Error()
	}
	before, now := strings.Split(describe(was), "\n"), strings.Split(describe(x), "\n")
	var b strings.Builder
	for i := range max(len(before), len(now)) {
		one, other := "", ""
		if i < len(before) {
			one = before[i]
		}
		if i < len(now) {
			other = now[i]
		}
		if one != other {
			fmt.Fprintf(&b, "- %s\n+ %s\n", one, other)
		}
	}
	return b.String()
}

// describe is what an index says, for people.
func describe(x *index.Index) string {
	var b strings.Builder
	fmt.Fprintln(&b, x.Version(), x.Time(), x.Totals(), x.SchemaErr(), x.ConfigErr())
	for f := range x.Files() {
		fmt.Fprintln(&b, "file", f.Path, f.Version, f.Body, f.Size, f.Digest)
	}
	for n := range x.Notes("") {
		fmt.Fprintln(&b, "note", n.ID, n.DeclaredType, n.Type, n.Title, n.Fields, n.Created, n.Modified)
		for _, s := range n.Sections {
			fmt.Fprintln(&b, "\tsection", s.Slug, s.Type(), s.Fields(), s.Line(), *s.Times)
		}
		for _, t := range n.EachAnnotation {
			fmt.Fprintln(&b, "\ttrait", t.ID, t.Type, t.Raw, t.Defined, t.Line(), t.Times)
		}
		for _, r := range n.Refs {
			fmt.Fprintln(&b, "\tref", r.Target, r.Line(), r.Position(), x.Resolve(r.Target).ID)
		}
	}
	for t := range x.Duplicates {
		fmt.Fprintln(&b, "duplicate", t.ID)
	}
	return b.String()
}
