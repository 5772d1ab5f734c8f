// Package orient contains the tools of orientation (spec/vault-orientation.md): they summarize the
// content of a vault before a caller searches or reads it. All answers are counts that the index
// keeps: of folders, tags, names of fields, and the values of two fields. No text is read.
//
// Every tool begins with tools.see, which returns the vault at one version together with the
// freshness of its index: whether files of the vault are known to differ from it. An
// answer that may be out of date has a warning with the call that corrects it. Lists are ranked by
// the number of notes and cut off (facets.go), and a list that is cut off has a warning with the
// total.
package orient

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
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

// A statusOut is the answer of vault_status. StatusCounts is nil if the stored vault has a newer
// format.
type statusOut struct {
	tool.Aside `json:"-"`
	// fresh, stale, pending, updating, incompatible or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
	*StatusCounts
	// always false: the index follows every change
	ReindexRequired bool `json:"reindexRequired" title:"reindex required"`
	// always empty
	ReindexReasons []string `json:"reindexReasons" title:"reindex reasons"`
}

// StatusCounts are the counts of the index, and the progress of the data derived from the log.
type StatusCounts struct {
	// notes in the vault
	Notes int `json:"noteCount" title:"notes"`
	// passages of the notes that search ranks
	Chunks int `json:"chunkCount" title:"chunks"`
	// of all notes
	Bytes int64 `json:"byteCount" title:"bytes"`
	// notes that do not parse
	Quarantined int `json:"quarantinedCount" title:"quarantined"`
	// outside edits that are not indexed yet
	Pending int `json:"pendingChangeCount" title:"pending changes"`
	// outside edits that need confirmation
	Held int `json:"heldChangeCount" title:"held changes"`
	// time since which all comparisons of the files found no change
	SweptAt *time.Time `json:"sweptAt,omitempty" title:"swept"`
	// the version at the last comparison that found a change
	SweptVersion string `json:"sweptVersion,omitempty" title:"swept version"`
	// time of the version; absent before the first
	CommittedAt *time.Time `json:"committedAt,omitempty" title:"committed"`
	// the version up to which each copy of the vault is complete; absent with as_of
	Cursors *Cursors `json:"cursors,omitempty"`
}

// Cursors are the versions up to which the copies of a vault are complete.
//
// A copy with a lower version than the vault is behind. Image is v0 if there is no image.
type Cursors struct {
	// the files in the folder of the vault
	Checkout string `json:"checkout"`
	// the stored index
	Image string `json:"image"`
	// the stored log
	Segments string `json:"segments"`
	// the audit log
	Audit string `json:"audit"`
}

// status returns the tool that reports the state of the index. A stored vault of a newer format is
// not an error here: the answer says so, without counts, because this tool is the one that a caller
// uses to find out why others fail.
//
// The members reindexRequired and reindexReasons are part of the specified form. They are false and
// empty in every answer, because the index follows every change.
func (f tools) status() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_status", Family: Family, Title: "Show the state of an index",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/status"},
		Commands: []tool.Command{{Words: "status"}},
	}, func(ctx context.Context, c auth.Caller, in source) (statusOut, error) {
		out := statusOut{ReindexReasons: []string{}}
		s, err := f.open(ctx, c, in, &out.Aside)
		if fault.Is(err, fault.IndexIncompatible) {
			stored := freshness{state: repo.Incompatible}
			stored.warn(&out.Aside)
			out.Freshness = stored.state
			return out, nil
		}
		if err != nil {
			return statusOut{}, err
		}
		out.Freshness, out.StatusCounts = s.freshness.state, s.counts()
		if in.AsOf.AsOf == "" {
			out.files(s.freshness.control)
		}
		return out, nil
	})
}

// counts returns the part of the status that comes from the index.
func (s vaultView) counts() *StatusCounts {
	all := s.Index.Totals().Counted
	c := &StatusCounts{Notes: all.Notes, Chunks: all.Units, Bytes: all.Bytes, Quarantined: all.Quarantined}
	if at := s.Index.Time(); s.Index.Version() > 0 {
		c.CommittedAt = &at
	}
	return c
}

// files adds the part of the status that comes from the control item: outside edits, the last
// comparison, and the cursors. A past version has none of these, because they describe the files of
// today.
func (c *StatusCounts) files(control repo.Control) {
	c.Held = control.Held.Count()
	if control.Noticed != nil {
		c.Pending = control.Noticed.Count
	}
	if s := control.Sweep; s != nil {
		c.SweptAt, c.SweptVersion = &s.At, eventlog.Version(s.Version)
	}
	c.Cursors = &Cursors{
		Checkout: eventlog.Version(control.Cursors[repo.FilesCursor].Seq),
		Image:    eventlog.Version(0),
		Segments: eventlog.Version(control.Cursors["segments"].Seq),
		Audit:    eventlog.Version(control.Cursors[repo.AuditCursor].Seq),
	}
	if control.Image != nil {
		c.Cursors.Image = eventlog.Version(control.Image.Seq)
	}
}

// A freshness describes how the index of a vault relates to the files in its folder. Its zero value
// has no state; see sets one.
type freshness struct {
	state   repo.Freshness // fresh, or the reason why answers may be out of date
	control repo.Control   // state of the files in the control item
	vault   string         // name of the vault as the call gave it; it can be empty
	warned  bool           // every answer already warns that the files are being read
}

// reading sets the state to Updating if the folder of the vault is being read for the first time.
// Then told is set, because the projection adds a warning to every answer. A nil folder means that
// the vault has no files.
func (f *freshness) reading(folder *checkout.Checkout) {
	if folder == nil {
		return
	}
	if _, under := folder.Reading(); under {
		f.state, f.warned = repo.Updating, true
	}
}

// hasDifferences reports whether any files are known to differ from the vault: edits that need
// confirmation, edits that were noticed, files that cannot be ingested, and the differences that
// the last comparison found. False does not mean that there are none: files change without notice
// if the vault is not watched.
func (f *freshness) hasDifferences() bool {
	c := f.control
	return c.Held.Count() > 0 || c.Noticed != nil && c.Noticed.Count > 0 || c.Left != nil && c.Left.Count > 0 ||
		f.swept() > 0
}

// swept returns the number of files that differed from the vault at the last comparison: those that
// something replaced which cannot be a note, and those that were missing. It is 0 if there was no
// comparison.
func (f *freshness) swept() int {
	if f.control.Sweep == nil {
		return 0
	}
	return f.control.Sweep.Count + f.control.Sweep.Missed
}

// notFound returns the INDEX_NOT_FOUND fault of a vault that has files, of which none is indexed.
// Its fix is the call that ingests the files, or the one that accepts them if they need
// confirmation.
func (f *freshness) notFound() error {
	missing := fault.New(fault.IndexNotFound, "the vault has files, but none of them is indexed").
		With("state", f.state)
	if f.control.Held.Count() > 0 {
		return missing.Try("raven_reindex", fault.Args{"pending": "accept"})
	}
	return missing.Try("raven_reindex", nil)
}

// warn adds a warning if the state is not fresh. The warning says what the state means and how to
// correct it: by a call of raven_reindex, or by waiting. It adds none if told is set.
//
// The code of each warning begins with INDEX_ and the state, so a program can handle the states by
// their codes. A warning has no call as a fix if no call of the caller would help.
func (f *freshness) warn(a *tool.Aside) {
	if f.warned {
		return
	}
	switch f.state {
	case repo.Stale:
		if u := f.control.Unwatched; u != "" && f.swept() == 0 {
			f.warning(a, "INDEX_STALE", u.Problem()+"; "+u.Remedy())
			return
		}
		f.warning(a, "INDEX_STALE", fmt.Sprintf("%d files differ from the vault and cannot be indexed; "+
			"raven_reindex lists the problem of each", f.swept()), compare)
	case repo.Pending:
		f.pending(a)
	case repo.Updating:
		f.warning(a, "INDEX_UPDATING",
			"a reindex is running; the answer describes the version before it: repeat the call in a moment")
	case repo.Unknown:
		f.warning(a, "INDEX_UNKNOWN", "the files have not been compared with the index yet; repeat the call in a "+
			"moment, or compare them with raven_reindex", compare)
	case repo.Incompatible:
		f.warning(a, "INDEX_INCOMPATIBLE", "the format of the stored vault is newer than this release supports; "+
			"run the release that wrote it, or a newer one")
	}
}

// pending adds a warning about outside edits: either those that need confirmation, or those that
// are ingested automatically.
func (f *freshness) pending(a *tool.Aside) {
	if held := f.control.Held.Count(); held > 0 {
		f.warning(a, "INDEX_PENDING", fmt.Sprintf("%d outside edits need confirmation, because they would remove "+
			"or revert many notes; confirm or discard them with raven_reindex", held),
			fault.Args{"pending": "accept"}, fault.Args{"pending": "discard"})
		return
	}
	f.warning(a, "INDEX_PENDING", fmt.Sprintf("%d files changed outside and are not indexed yet; they are indexed "+
		"automatically while the vault is served, or at once with raven_reindex", f.control.Noticed.Count), compare)
}

// compare are the arguments of a call of raven_reindex that compares the files with the index.
var compare = fault.Args{}

// warning adds one warning, with the calls of raven_reindex that correct the state as its fixes.
//
// A fix is the text of a call, with the vault of this call if it named one. The arguments in
// reindexes are copied, because they can be shared.
func (f *freshness) warning(a *tool.Aside, code, message string, reindexes ...fault.Args) {
	fields := map[string]any{"state": f.state}
	fixes := make([]string, 0, len(reindexes))
	for _, with := range reindexes {
		in := maps.Clone(with)
		if f.vault != "" {
			in["vault"] = f.vault
		}
		fixes = append(fixes, fault.NewCall("raven_reindex", in).String())
	}
	if len(fixes) > 0 {
		fields["fixes"] = fixes
	}
	a.Warn(code, message, fields)
}
