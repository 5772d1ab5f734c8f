package raven

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/tool"
)

//go:embed stats.md
var statsDoc string

type statsIn struct {
	tool.Vault
	tool.AsOf
}

type statsOut struct {
	tool.Aside  `json:"-"`
	Files       int      `json:"file_count" jsonschema:"notes"`
	Objects     int      `json:"object_count" jsonschema:"notes and their sections"`
	Traits      int      `json:"trait_count" jsonschema:"traits that the schema knows"`
	Refs        int      `json:"ref_count" jsonschema:"references in texts and fields"`
	Quarantined int      `json:"quarantined_count" jsonschema:"notes that do not parse"`
	Bytes       int64    `json:"byte_count" jsonschema:"of all notes"`
	Edited      int      `json:"edited_outside_count" jsonschema:"files that differ from what Rookery wrote, at the last comparison"`
	EditedFiles []string `json:"edited_outside,omitempty" jsonschema:"the first of them"`
	Missing     []string `json:"missing_files,omitempty" jsonschema:"files that were taken away; raven_reindex writes them again"`
}

func (f tools) stats() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_stats", Family: Family, Title: "Count", Doc: statsDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/stats"},
		Commands: []tool.Command{{Words: "stats"}},
	}, func(ctx context.Context, c auth.Caller, in statsIn) (statsOut, error) {
		v, err := f.viewAt(ctx, c, in.Vault.Vault, in.AsOf)
		if err != nil {
			return statsOut{}, err
		}
		control, err := v.vault.Control(ctx)
		if err != nil {
			return statsOut{}, err
		}
		t := v.idx.Totals()
		out := statsOut{
			Files: t.Notes, Objects: t.Notes + t.Sections, Traits: t.Traits, Refs: t.Refs,
			Quarantined: t.Quarantined, Bytes: t.Bytes,
		}
		if s := control.Sweep; s != nil && in.AsOf.AsOf == "" { // of earlier ones nobody knows any more
			out.Edited = s.Count
			out.EditedFiles, out.Missing = s.Edited, s.Missing
		}
		out.Note("version", v.version())
		return out, nil
	})
}
