package orient

import (
	"context"
	_ "embed"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed overview.md
var overviewDoc string

// How much an overview shows. Nothing changes that: who needs more asks for the tree, the tags or the facets.
const (
	topFolders = 20
	topTags    = 50
	topFields  = 50
)

type overviewOut struct {
	tool.Aside `json:"-"`
	Notes      int            `json:"noteCount" title:"notes" jsonschema:"notes in the vault"`
	Chunks     int            `json:"chunkCount" title:"chunks" jsonschema:"passages of the notes that search ranks"`
	Folders    []FolderCount  `json:"topLevelFolders" title:"folders" jsonschema:"top-level folders, at most 20, those with the most notes first"`
	Tags       []TagCount     `json:"topTags" title:"tags" jsonschema:"tags of frontmatter, at most 50, the most common first"`
	Fields     []FieldCount   `json:"frontmatterFields" title:"fields" jsonschema:"fields of frontmatter, at most 50, the most common first"`
	Freshness  repo.Freshness `json:"indexFreshness" title:"index" jsonschema:"fresh, stale, pending, updating or unknown"`
}

// A FolderCount is a folder in the vault itself, and how many notes are in it and below.
type FolderCount struct {
	Path  string `json:"path"`
	Notes int    `json:"noteCount" title:"notes" jsonschema:"notes in the folder and its subfolders"`
}

// A FieldCount is the name of a field, and how many notes have it.
type FieldCount struct {
	Name  string `json:"name"`
	Notes int    `json:"noteCount" title:"notes" jsonschema:"notes with the field"`
}

func (f tools) overview() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_overview", Family: Family, Title: "Get an overview of a vault", Doc: overviewDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/overview"},
		Commands: []tool.Command{{Words: "overview"}},
	}, func(ctx context.Context, c auth.Caller, in source) (overviewOut, error) {
		var out overviewOut
		s, err := f.see(ctx, c, in, &out.Aside)
		if err != nil {
			return overviewOut{}, err
		}
		all := s.Index.Totals().Counted
		out.Notes, out.Chunks, out.Freshness = all.Notes, all.Units, s.freshness.state
		out.folders(s.Index)
		tags, total := ranked(s.Index.HeadTags(), topTags)
		out.Tags = tagCounts(tags)
		out.cut("TOP_TAGS_TRUNCATED", "tags", "vault_tags", topTags, total)
		out.fields(s.Index)
		return out, nil
	})
}

func (out *overviewOut) folders(idx *index.Index) {
	first, total := ranked(idx.FoldersIn(""), topFolders)
	out.Folders = make([]FolderCount, len(first))
	for i, c := range first {
		out.Folders[i] = FolderCount{c.name, c.notes}
	}
	out.cut("TOP_LEVEL_FOLDERS_TRUNCATED", "folders", "vault_tree", topFolders, total)
}

func (out *overviewOut) fields(idx *index.Index) {
	first, total := ranked(idx.HeadFields(), topFields)
	out.Fields = make([]FieldCount, len(first))
	for i, c := range first {
		out.Fields[i] = FieldCount{c.name, c.notes}
	}
	out.cut("FRONTMATTER_FIELDS_TRUNCATED", "fields", "vault_facets", topFields, total)
}

// cut warns that a list does not show all that there are.
func (out *overviewOut) cut(code, what, by string, limit, total int) {
	cutting{code: code, what: what, shown: limit, total: total, more: by + " shows more"}.warn(&out.Aside)
}
