package index

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// settings are what the vault's own files say about the others.
type settings struct {
	schema    *vault.Schema
	schemaErr error
	config    vault.Config
	configErr error
	exclusion *vault.Exclusion // what orientation leaves out
	hiding    *vault.Exclusion // what is no note
	texts     settingTexts

	dailyAs string // how the folder of the daily notes is spelled in the vault; "" as in the configuration
}

// settingTexts are the texts of the files that hold the settings. They are small, and raven.yaml and
// rookery.yaml are read together.
type settingTexts struct{ schema, raven, rookery, obsidianDaily, obsidianTemplates string }

// with is the texts after a change of a file.
func (t settingTexts) with(ch Change) settingTexts {
	text := &t.schema
	switch ch.Path {
	case vault.SchemaFile:
	case vault.ConfigRaven:
		text = &t.raven
	case vault.ConfigRookery:
		text = &t.rookery
	case vault.ObsidianDaily:
		text = &t.obsidianDaily
	case vault.ObsidianTemplates:
		text = &t.obsidianTemplates
	default:
		return t
	}
	if *text = string(ch.Text); ch.Deleted {
		*text = ""
	}
	return t
}

// read is the settings that the texts say. What does not load has its defaults, and the error is
// kept.
func (s settings) read(t settingTexts) settings {
	s.texts = t
	s.config, s.configErr = vault.ParseConfig([]byte(t.raven), []byte(t.rookery))
	s.config = s.config.WithObsidian([]byte(t.obsidianDaily), []byte(t.obsidianTemplates))
	s.exclusion = vault.NewExclusion(s.config.Exclude)
	s.hiding = s.config.Hiding()
	s.schema, s.schemaErr = vault.ParseSchema([]byte(t.schema))
	if s.schemaErr != nil {
		s.schema = vault.NewSchema()
	}
	s.schema = s.schema.WithFolders(s.config)
	return s
}

// Schema is the schema of the vault; of one whose schema.yaml does not load, the built-in types.
func (x *Index) Schema() *vault.Schema { return x.schema }

// SchemaErr is why schema.yaml does not load, nil if it does.
func (x *Index) SchemaErr() error { return x.schemaErr }

// Config is how the vault is set up; what does not load has its default.
func (x *Index) Config() vault.Config {
	c := x.config
	if x.dailyAs != "" {
		c.DailyDirectory = x.dailyAs
	}
	return c
}

// spellDaily finds out how the folder of the daily notes is spelled: where there is none of that name with notes, it
// is one that differs by case only.
func (x *Index) spellDaily() {
	x.dailyAs = ""
	want := x.config.DailyDirectory
	if want == "" || want == vault.Root || x.count(inFolder, want) > 0 {
		return
	}
	found := ""
	for segment := range strings.SplitSeq(want, "/") {
		next, ok := x.folderLike(found, segment)
		if !ok {
			return
		}
		found = next
	}
	x.dailyAs = found
}

// folderLike returns the folder in a folder that has a name, but for its case; the one of exactly that name first.
func (x *Index) folderLike(in, name string) (path string, ok bool) {
	if in != "" {
		in += "/"
	}
	if x.count(inFolder, in+name) > 0 {
		return in + name, true
	}
	for folder := range x.FoldersIn(strings.TrimSuffix(in, "/")) {
		if vault.Fold(folder[len(in):]) == vault.Fold(name) {
			return folder, true
		}
	}
	return "", false
}

// ConfigErr is why raven.yaml or rookery.yaml does not load, nil if they do.
func (x *Index) ConfigErr() error { return x.configErr }

// typeOf is what the type that a note says means: a daily note has one type under two names, and
// what the schema does not know is a page (reference/raven.md §1.3, §6.5).
func (s settings) typeOf(n *Note) string {
	if n.isTemplate(s.config) {
		return vault.Page
	}
	if n.DeclaredType != "" {
		return s.meaning(n.DeclaredType)
	}
	if _, daily := s.config.IsDaily(vault.Path(n.Path)); daily && n.Quarantine == nil {
		return vault.Daily
	}
	return vault.Page
}

// isTemplate reports whether a note is a template, and so no object.
func (n *Note) isTemplate(c vault.Config) bool { return c.IsTemplate(vault.Path(n.Path)) }

// meaning is the type of the schema that a note of the declared type has. Section is none: headings
// are sections, notes never.
func (s settings) meaning(declared string) string {
	if t, ok := s.schema.Type(declared); ok && t.Name != vault.Section {
		return t.Name
	}
	return vault.Page
}
