package raven

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A trashListIn is the input of raven_trash_list.
type trashListIn struct {
	tool.Vault
	// only objects with this former id: people/freya, people/freya#notes
	ID string `json:"id,omitempty" complete:"" size:"id"`
	tool.AsOf
	tool.Page
}

// A trashListOut is the output of raven_trash_list, with the last deletion first.
type trashListOut struct {
	tool.Aside `json:"-"`
	Items      []trashItem `json:"items"`
}

// page implements listOut.
func (o *trashListOut) page() (*tool.Aside, *[]trashItem) { return &o.Aside, &o.Items }

// A trashItem is a deleted note or section that raven_restore can restore.
//
// A file that came into the trash without a deletion that the log has, for example one that
// Obsidian put there, is listed without time, version and principal.
type trashItem struct {
	// that it had
	ID string `json:"id"`
	// argument for raven_restore: the id, or the path in the trash if several have this id
	Reference string `json:"reference"`
	// for a note, its type
	Type string `json:"type,omitempty"`
	// note or section
	Kind      string `json:"kind"`
	TrashPath string `json:"trash_path"`
	// the file to which it would be restored
	RestorePath string `json:"restore_path"`
	// this and the following members are null if the log does not have them
	DeletedAt *time.Time `json:"deleted_at" title:"deleted"`
	// that deleted it
	Version   string `json:"version,omitempty"`
	Principal string `json:"principal,omitempty" title:"who"`
	Agent     string `json:"agent,omitempty"`
	// in bytes
	Size int `json:"size"`

	commit uint64 // the commit that deleted it; 0: not found in the log
	origin origin
}

// An origin is the former id and the text of a section in the trash.
type origin struct {
	id   string // empty: the trashed object is a note
	text []byte // of the section
}

// trashList returns the tool raven_trash_list, which lists deleted notes and sections.
func (f tools) trashList() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_trash_list", Family: Family, Title: "List the trash",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/trash"},
		Commands: []tool.Command{{Words: "trash list", Args: []string{"id?"}}},
		Columns:  []string{"id", "kind", "deleted_at", "principal", "trash_path"},
		Empty:    []tool.Empty{{Of: "deleted notes or sections"}},
	}, func(ctx context.Context, v view, in trashListIn, _ *trashListOut) (listing[trashItem], error) {
		files := trashFiles(v.Index, in.ID, state.KeepGoing(ctx))
		return trashed(v, files), ctx.Err()
	})
}

// trashed returns the list of the objects in some files of the trash. The texts of the files on a
// page are read together.
func trashed(v view, files []*index.File) listing[trashItem] {
	key := func(file *index.File) string { return eventlog.Version(file.Version) + " " + file.Path }
	return func(ctx context.Context, p state.Pager) ([]trashItem, error) {
		page, err := whole(files, key)(ctx, p)
		if err != nil {
			return nil, err
		}
		v.Prefetch(ctx, pathsOf(page))
		items := []trashItem{}
		for _, file := range page {
			item, err := readTrashItem(ctx, v.Vault, file)
			if err != nil {
				return nil, err
			}
			item.Reference = trashReference(files, item)
			items = append(items, item)
		}
		return items, nil
	}
}

// pathsOf yields the paths of files.
func pathsOf(files []*index.File) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range files {
			if !yield(f.Path) {
				return
			}
		}
	}
}

// trashFiles returns the files in the trash, the newest first. With an id, it returns only files of
// objects that had it. It stops early if going returns false.
//
// The order is that of the commits that wrote the files, so the last deletion comes first.
func trashFiles(idx *index.Index, id string, going func() bool) []*index.File {
	var all []*index.File
	for f := range idx.FilesAfter(vault.Trash) {
		if !vault.InTrash(f.Path) || !going() {
			break
		}
		if id == "" || trashName(f.Path) ==
			strings.TrimSuffix(strings.Replace(strings.TrimSpace(id), "#", "/", 1), ".md") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *index.File) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), strings.Compare(a.Path, b.Path))
	})
	return all
}

// twin matches the version in the name of a file of the trash whose name was already in use
// (docs/design/0007).
var twin = regexp.MustCompile(`\.v[0-9]+\.md$`)

// trashName returns the name from which the path of a file in the trash was made: the id of a note,
// or for a section the id of its note, a slash and the slug.
func trashName(path string) string {
	name := strings.TrimPrefix(path, vault.Trash)
	return strings.TrimSuffix(twin.ReplaceAllString(name, ".md"), ".md")
}

// trashReference returns a unique argument for raven_restore: the id, or the path if several files
// have the id.
func trashReference(files []*index.File, item trashItem) string {
	same := 0
	for _, f := range files {
		if trashName(f.Path) == trashName(item.TrashPath) {
			same++
		}
	}
	if same > 1 {
		return item.TrashPath
	}
	return item.ID
}

// readTrashItem returns the description of a file in the trash, from its text and from the commit
// that wrote it.
//
// Whether the file is a note or a section follows from its frontmatter: a section was stored with
// its former id and line. The time and the principal are those of the commit that wrote the file,
// if that commit also removed the note or changed the note of the section.
func readTrashItem(ctx context.Context, v *repo.Vault, f *index.File) (trashItem, error) {
	item := trashItem{Kind: "note", TrashPath: f.Path, Size: f.Size}
	text, err := v.Text(ctx, f.Body)
	if err != nil {
		return item, err
	}
	head, body := markdown.ReadHead(text)
	if typ, ok := head.Get("type"); ok {
		item.Type, _ = typ.Value.(string)
	}
	note := trashName(f.Path) + ".md"
	// A note can have the fields origin and line too, so the path in the trash must match the
	// origin.
	at, ok := sectionOrigin(head)
	if of, _, _ := strings.Cut(at, "#"); ok && strings.HasPrefix(trashName(f.Path), of+"/") {
		item.Kind, item.Type, item.origin = "section", "", origin{at, text[body:]}
		note, _, _ = strings.Cut(at, "#")
		note += ".md"
	}
	item.ID, item.RestorePath = vault.Path(note).ID(), note
	if item.origin.id != "" {
		item.ID = item.origin.id
	}
	c, err := v.Commit(ctx, f.Version)
	if err != nil {
		return item, err
	}
	if deletes(c, f.Path, note, item.origin.id != "") {
		item.commit, item.Version, item.DeletedAt = c.Seq, eventlog.Version(c.Seq), &c.Time
		item.Principal, item.Agent = c.Who.Principal, c.Who.Agent
	}
	return item, nil
}

// sectionOrigin returns the former id of a section, from the frontmatter of its file in the trash.
// It returns false if the file is not a section.
func sectionOrigin(head *markdown.Frontmatter) (string, bool) {
	at, ok := head.Get("origin")
	id, isText := at.Value.(string)
	_, hasLine := head.Get("line")
	return id, ok && isText && hasLine && strings.Contains(id, "#")
}

// deletes reports whether a commit created a file in the trash and deleted a note, or changed the
// note of a section.
func deletes(c *eventlog.Commit, trash, note string, section bool) bool {
	made, changed := false, false
	for _, n := range c.Notes {
		made = made || n.Path == trash && !n.Deleted
		changed = changed || n.Path == note && n.Deleted != section
	}
	return made && changed
}
