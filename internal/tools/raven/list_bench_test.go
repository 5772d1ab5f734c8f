package raven_test

import "testing"

// BenchmarkLists measures a page of the lists of objects and traits of a generated vault of 10,000 notes.
func BenchmarkLists(b *testing.B) {
	p := corpusPlace(b, 10_000)
	for _, m := range []struct {
		name, tool string
		in         args
	}{
		{"objects", "raven_object_list", args{}},
		{"objects of a type", "raven_object_list", args{"type": "project"}},
		{"objects with a value", "raven_object_list", args{"type": "project", "field": args{"status": "active"}}},
		{"objects with a value of any type", "raven_object_list", args{"field": args{"status": "active"}}},
		{"objects modified today", "raven_object_list", args{"modified_today": true}},
		{"traits", "raven_trait_list", args{"trait_type": "due"}},
		{"traits with a value", "raven_trait_list", args{"trait_type": "due", "value": "2026-03-02"}},
		{"traits of the past", "raven_trait_list", args{"trait_type": "due", "value": "past"}},
		{"traits in objects of a type", "raven_trait_list", args{"trait_type": "due", "parent_type": "project"}},
		{"traits in a folder", "raven_trait_list", args{"trait_type": "due", "path": "meetings"}},
		{"open traits", "raven_trait_list", args{"trait_type": "due", "done": false}},
		{"traits created since", "raven_trait_list", args{"trait_type": "due", "created_since": "2026-03-01"}},
		{"tasks", "raven_trait_list", args{"trait_type": "task", "value": "todo"}},
	} {
		b.Run(m.name, func(b *testing.B) {
			measured(b, func(int) {}, func(int) { p.must(b, m.tool, m.in, nil) })
		})
	}
}
