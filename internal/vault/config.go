package vault

import (
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // so that a zone means the same where the system has no database

	"go.yaml.in/yaml/v4"

	"rookery/internal/fault"
)

// settingWord is a text that YAML reads as itself.
var settingWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_+/-]*[A-Za-z0-9]$`)

// DefaultDaily is the folder of the daily notes where the vault names none.
const DefaultDaily = "daily"

// A Config is how a vault is set up: its raven.yaml and its rookery.yaml. The zero Config is not one;
// ParseConfig of nothing is that of a vault without these files.
type Config struct {
	DailyDirectory string // without a slash at the end; Root is the vault itself
	DailyTemplate  string // older: the text that daily notes begin with, or its path
	Directories    Directories
	Capture        Capture
	Deletion       Deletion
	Exclude        []string // patterns of notes that are files of the vault and no notes; see Hiding
	Protected      []string // beginnings of paths that are read only
	Queries        []Query  // as in the file

	Timezone  string // an IANA name
	Zone      *time.Location
	WeekStart time.Weekday
	Language  string // one of Languages: what its notes are written in, mostly

	Tree Tree

	dailySaid bool // raven.yaml names the folder of the daily notes
}

// Directories are the folders of objects, notes without a type and templates: each with a slash at the end, or "" for
// none of its own.
type Directories struct{ Type, Page, Template string }

// Capture says where quick notes go.
type Capture struct {
	Destination string // "daily", or a path
	Heading     string
	Timestamp   bool
}

// Deletion says what happens to deleted notes.
type Deletion struct {
	Behavior string // "trash" or "permanent"
	TrashDir string
}

// A Query is a saved query: a text of the query language, or the document's lists.
type Query struct {
	Name        string
	Description string
	Query       string
	Args        []string

	Types   []string
	Traits  []string
	Filters map[string]string // trait → value
	Tags    []string
}

// Clock is the clock of the vault.
func (c Config) Clock(now time.Time) Clock { return Clock{now, c.Zone, c.WeekStart} }

// ParseConfig reads a raven.yaml of any Raven and a rookery.yaml; either may be nil. Keys that are
// Raven's own are passed over. What cannot be used is SCHEMA_ERROR with file, line and cause; the
// Config then has the defaults in its place.
func ParseConfig(raven, rookery []byte) (Config, error) {
	c := Config{
		DailyDirectory: DefaultDaily, Capture: Capture{Destination: DefaultDaily},
		Deletion: Deletion{Behavior: "trash", TrashDir: ".trash"},
		Timezone: "UTC", Zone: time.UTC, WeekStart: time.Monday,
		Language: DefaultLanguage,
	}
	p := &configParser{reader{file: ConfigRaven}, &c}
	for _, e := range p.entries(p.root(raven), "the file") {
		p.raven(e)
	}
	p.file = ConfigRookery
	for _, e := range p.entries(p.root(rookery), "the file") {
		p.rookery(e)
	}
	return c, p.err()
}

// A configParser reads the files into a Config.
type configParser struct {
	reader
	c *Config
}

func (p *configParser) raven(e pair) {
	switch e.key {
	case "daily_directory":
		p.daily(e)
	case "directories":
		for _, d := range p.entries(e.value, e.key) {
			p.directory(d)
		}
	case "daily_template":
		p.c.DailyTemplate = p.text(e)
	case "capture":
		p.capture(e)
	case "deletion":
		p.deletion(e)
	case "exclude":
		p.exclude(e)
	case "protected_prefixes":
		p.c.Protected = p.list(e)
	case "queries":
		for _, q := range p.entries(e.value, e.key) {
			p.c.Queries = append(p.c.Queries, p.query(q))
		}
	}
}

func (p *configParser) rookery(e pair) {
	switch e.key {
	case "timezone":
		p.zone(e)
	case "week_start":
		if day, ok := parseWeekday(p.text(e)); ok {
			p.c.WeekStart = day
			return
		}
		p.report(e.line, "%s", badWeekStart)
	case "language":
		if name, ok := ParseLanguage(p.text(e)); ok {
			p.c.Language = name
			return
		}
		p.report(e.line, "%s", badLanguage())
	case "tree":
		p.tree(e)
	}
}

// maxExclude is how many patterns exclude has at most: each is compared with each name.
const maxExclude = 1000

// exclude reads patterns of gitignore.
func (p *configParser) exclude(e pair) {
	all := p.list(e)
	if len(all) > maxExclude {
		p.report(e.line, "exclude has more than %d patterns", maxExclude)
		all = all[:maxExclude]
	}
	for i, text := range all {
		if _, problem := newExclusionRule(text); problem != "" {
			p.report(e.line, "pattern %d of exclude cannot be read: %s", i+1, problem)
			continue
		}
		p.c.Exclude = append(p.c.Exclude, text)
	}
}

// daily reads the folder of the daily notes.
func (p *configParser) daily(e pair) {
	if e.value != nil && isRoot(e.value.Value) {
		p.c.DailyDirectory, p.c.dailySaid = Root, true
		return
	}
	if dir := strings.TrimSuffix(p.folder(e), "/"); dir != "" {
		p.c.DailyDirectory, p.c.dailySaid = dir, true
	}
}

// isRoot reports whether a text names the folder of the vault itself.
func isRoot(s string) bool { return s == "." || s == "./" || s == "/" }

// directory reads one of the folders.
func (p *configParser) directory(e pair) {
	d := &p.c.Directories
	switch e.key {
	case "daily":
		p.daily(e)
	case "type", "types":
		d.Type = p.folder(e)
	case "page", "pages":
		d.Page = p.folder(e)
	case "template", "templates":
		d.Template = p.folder(e)
	case "object", "objects":
		p.report(e.line, "directories has no key %q; the folder of objects is \"type\"", e.key)
	}
}

func (p *configParser) capture(e pair) {
	for _, d := range p.entries(e.value, e.key) {
		switch d.key {
		case "destination":
			if s := p.text(d); s != "" {
				p.c.Capture.Destination = s
			}
		case "heading":
			p.c.Capture.Heading = p.text(d)
		case "timestamp":
			p.c.Capture.Timestamp = p.flag(d)
		}
	}
}

func (p *configParser) deletion(e pair) {
	for _, d := range p.entries(e.value, e.key) {
		s := p.text(d)
		switch {
		case d.key == "trash_dir" && s != "":
			p.c.Deletion.TrashDir = s
		case d.key == "behavior" && (s == "trash" || s == "permanent"):
			p.c.Deletion.Behavior = s
		case d.key == "behavior":
			p.report(d.line, "deletion behavior must be trash or permanent")
		}
	}
}

// query reads a saved query. A text alone is one of the query language.
func (p *configParser) query(e pair) Query {
	q := Query{Name: e.key}
	if e.value.Kind == yaml.ScalarNode && e.value.ShortTag() != "!!null" {
		q.Query = e.value.Value
		return q
	}
	for _, d := range p.entries(e.value, "query "+e.key) {
		switch d.key {
		case "description":
			q.Description = p.text(d)
		case "query":
			q.Query = p.text(d)
		case "args":
			q.Args = p.list(d)
		case "types":
			q.Types = p.list(d)
		case "traits":
			q.Traits = p.list(d)
		case "tags":
			q.Tags = p.list(d)
		case "filters":
			q.Filters = p.filters(d)
		}
	}
	return q
}

func (p *configParser) filters(e pair) map[string]string {
	filters := map[string]string{}
	for _, d := range p.entries(e.value, e.key) {
		filters[d.key] = p.text(d)
	}
	return filters
}

func (p *configParser) zone(e pair) {
	s := p.text(e)
	zone, ok := loadZone(s)
	if !ok {
		p.report(e.line, "%s", badZone)
		return
	}
	p.c.Timezone, p.c.Zone = s, zone
}

const (
	badZone      = "timezone must be an IANA name, such as UTC or Europe/Vienna"
	badWeekStart = "week_start must be the English name of a day, such as monday or sunday"
)

// loadZone finds a time zone. That of the machine is none: an answer must be the same everywhere.
func loadZone(s string) (*time.Location, bool) {
	if s == "" || s == "Local" {
		return nil, false
	}
	zone, err := time.LoadLocation(s)
	return zone, err == nil
}

func parseWeekday(s string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(day.String(), s) {
			return day, true
		}
	}
	return 0, false
}

// Settings are what a rookery.yaml can say; "" leaves each at its default.
type Settings struct{ Timezone, WeekStart, Language string }

// Check is INVALID_PARAMETER for a time zone, a week start or a language that a vault cannot have.
func (s Settings) Check() error {
	if _, ok := loadZone(s.Timezone); !ok && s.Timezone != "" {
		return fault.New(fault.InvalidParameter, badZone).With("argument", "timezone")
	}
	if _, ok := parseWeekday(s.WeekStart); !ok && s.WeekStart != "" {
		return fault.New(fault.InvalidParameter, badWeekStart).With("argument", "week_start")
	}
	if _, ok := ParseLanguage(s.Language); !ok && s.Language != "" {
		return fault.New(fault.InvalidParameter, "%s", badLanguage()).With("argument", "language")
	}
	return nil
}

// Text is a rookery.yaml with these settings. Check says whether they can be.
func (s Settings) Text() []byte {
	var b strings.Builder
	for _, e := range [][2]string{
		{"timezone", s.Timezone}, {"week_start", s.WeekStart}, {"language", s.Language},
	} {
		if e[1] != "" {
			b.WriteString(e[0] + ": " + yamlText(e[1]) + "\n")
		}
	}
	return []byte(b.String())
}

// yamlText spells a text so that YAML reads it back.
func yamlText(s string) string {
	if settingWord.MatchString(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + `"`
}
