package orient

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The numbers of entries in an overview. They are fixed: the tools for the tree, the tags and the
// facets list more.
const (
	topFolders = 20
	topTags    = 50
	topFields  = 50
)

// An overviewOut is the answer of vault_overview.
type overviewOut struct {
	tool.Aside `json:"-"`
	// notes in the vault
	Notes int `json:"noteCount" title:"notes"`
	// passages of the notes that search ranks
	Chunks int `json:"chunkCount" title:"chunks"`
	// top-level folders, at most 20, those with the most notes first
	Folders []FolderCount `json:"topLevelFolders" title:"folders"`
	// tags of frontmatter, at most 50, the most common first
	Tags []TagCount `json:"topTags" title:"tags"`
	// fields of frontmatter, at most 50, the most common first
	Fields []FieldCount `json:"frontmatterFields" title:"fields"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// A FolderCount is a top-level folder, with the number of notes in it and below.
type FolderCount struct {
	Path string `json:"path"`
	// notes in the folder and its subfolders
	Notes int `json:"noteCount" title:"notes"`
}

// A FieldCount is the name of a field, with the number of notes that have it.
type FieldCount struct {
	Name string `json:"name"`
	// notes with the field
	Notes int `json:"noteCount" title:"notes"`
}

// overview returns the tool that summarizes a vault: the number of notes, and the folders, tags and
// fields that most notes have. It has no arguments except the vault and the version, because it is
// the first call of an agent that does not know the vault. Each list that is cut off has a warning
// that names the tool with the whole list.
func (f tools) overview() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_overview", Family: Family, Title: "Get an overview of a vault",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/overview"},
		Commands: []tool.Command{{Words: "overview"}},
	}, func(ctx context.Context, c auth.Caller, in source) (overviewOut, error) {
		var out overviewOut
		s, err := f.open(ctx, c, in, &out.Aside)
		if err != nil {
			return overviewOut{}, err
		}
		all := s.Index.Totals().Counted
		out.Notes, out.Chunks, out.Freshness = all.Notes, all.Units, s.freshness.state
		out.folders(s.Index)
		tags, total := topCounts(s.Index.HeadTags(), topTags)
		out.Tags = tagCounts(tags)
		out.warnCut("TOP_TAGS_TRUNCATED", "tags", "vault_tags", topTags, total)
		out.fields(s.Index)
		return out, nil
	})
}

// folders adds the top-level folders with the most notes.
func (out *overviewOut) folders(idx *index.Index) {
	first, total := topCounts(idx.FoldersIn(""), topFolders)
	out.Folders = make([]FolderCount, len(first))
	for i, c := range first {
		out.Folders[i] = FolderCount{c.name, c.notes}
	}
	out.warnCut("TOP_LEVEL_FOLDERS_TRUNCATED", "folders", "vault_tree", topFolders, total)
}

// fields adds the fields that most notes have.
func (out *overviewOut) fields(idx *index.Index) {
	first, total := topCounts(idx.HeadFields(), topFields)
	out.Fields = make([]FieldCount, len(first))
	for i, c := range first {
		out.Fields[i] = FieldCount{c.name, c.notes}
	}
	out.warnCut("FRONTMATTER_FIELDS_TRUNCATED", "fields", "vault_facets", topFields, total)
}

// warnCut adds a warning if a list with the given limit does not contain all entries. by is the
// tool that lists more.
func (out *overviewOut) warnCut(code, what, by string, limit, total int) {
	truncation{code: code, what: what, shown: limit, total: total, more: by + " shows more"}.warn(&out.Aside)
}
