package repotest

import (
	"encoding/json"
	"fmt"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"maps"
	"slices"
	"strings"
	"time"
)

// A State is a small state for a Log: texts by name, from records of the kind "text". It never
// changes.
type State struct {
	Seq   uint64
	Texts map[string]Text
}

// A Text is one text, and the commit that set it.
type Text struct {
	Text    string
	Changed uint64
}

// Part is the partition of the log that LogOptions name.
const Part = "log"

// LogOptions are those of a Log of a State.
func LogOptions(e Engine, now func() time.Time) eventlog.Options[*State] {
	return eventlog.Options[*State]{
		Table: e.Table, Bucket: e.Bucket, Part: Part, Apply: fold, Now: now,
	}
}

// fold is the state after a commit.
func fold(before *State, c *eventlog.Commit, _ eventlog.PartRef) *State {
	s := &State{Seq: c.Seq, Texts: maps.Clone(before.Texts)}
	if s.Texts == nil {
		s.Texts = map[string]Text{}
	}
	for _, r := range c.Records {
		delete(s.Texts, r.ID)
		var text string
		if json.Unmarshal(r.Value, &text) == nil {
			s.Texts[r.ID] = Text{text, c.Seq}
		}
	}
	return s
}

// String is all that the state says.
func (s *State) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "v%d\n", s.Seq)
	for _, name := range slices.Sorted(maps.Keys(s.Texts)) {
		fmt.Fprintf(&b, "%s v%d %q\n", name, s.Texts[name].Changed, s.Texts[name].Text)
	}
	return b.String()
}
