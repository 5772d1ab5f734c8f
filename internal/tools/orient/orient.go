// Package orient contains the tools of orientation (spec/vault-orientation.md): they summarize the
// content of a vault before a caller searches or reads it. All answers are counts that the index
// keeps: of folders, tags, names of fields, and the values of two fields. No text is read.
//
// Every tool begins with tools.see, which returns the vault at one version together with the
// freshness of its index: whether files of the vault are known to differ from it (status.go). An
// answer that may be out of date has a warning with the call that corrects it. Lists are ranked by
// the number of notes and cut off (facets.go), and a list that is cut off has a warning with the
// total.
package orient

import (
	"context"
	"embed"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. Every invalid argument has the code INVALID_PARAMETER.
var Family = &tool.Family{
	Name: "orient", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// Tools returns the tools of the family for these tenants.
func Tools(t *tenant.Registry) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{f.overview(), f.tree(), f.tags(), f.facets(), f.status()}
}

// A tools has the functions of the tools as methods, and the access to vaults that they share.
type tools struct{ state.Source }

// A source is the input that every tool has: the vault, and the time as of which it is read.
type source struct {
	tool.Vault
	tool.AsOf
}

// A vaultView is the vault of a call at one version, with its freshness.
type vaultView struct {
	state.View
	freshness freshness
}

// open returns the vault of a call. It writes the version, and warnings about the freshness, into
// the aside. It returns INDEX_NOT_FOUND if the vault has files but none of them is indexed. A past
// version is always fresh.
//
// The steps have an order. The version is noted first, so that an answer with a warning has it too.
// Then the state is read from the control item, which is the same for all processes, and corrected
// by the state of the folder in this process. An empty index is an error only if files are known to
// exist: a new vault is empty and fresh.
func (f tools) open(ctx context.Context, c auth.Caller, in source, a *tool.Aside) (vaultView, error) {
	v, err := f.ViewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return vaultView{}, err
	}
	s := vaultView{v, freshness{state: repo.Fresh, vault: in.Vault.Vault}}
	a.Note("version", v.Version())
	if in.AsOf.AsOf != "" { // a past version cannot be out of date
		return s, nil
	}
	s.freshness.state, s.freshness.control = v.Control.Freshness(v.Vault.Now()), v.Control
	folder, err := f.Folder(ctx, c, in.Vault.Vault)
	if err != nil {
		return vaultView{}, err
	}
	s.freshness.reading(folder)
	if isEmpty(v.Index) && s.freshness.hasDifferences() {
		return vaultView{}, s.freshness.notFound()
	}
	s.freshness.warn(a)
	return s, nil
}

// isEmpty reports whether an index has no files.
func isEmpty(idx *index.Index) bool {
	for range idx.Files() {
		return false
	}
	return true
}

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
