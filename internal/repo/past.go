package repo

import (
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// pastOf returns the times that a commit stores in the form that the index takes; nil for nil.
func pastOf(p *eventlog.Past) *index.NoteTimes {
	if p == nil {
		return nil
	}
	return &index.NoteTimes{Note: index.Times(p.Note), Sections: timesOf(p.Sections), Traits: timesOf(p.Traits)}
}

// timesOf returns stored times in the form that the index takes.
func timesOf(stored []eventlog.Times) []index.Times {
	var all []index.Times
	for _, t := range stored {
		all = append(all, index.Times(t))
	}
	return all
}

// storedPast returns times in the form that a commit stores; nil for nil.
func storedPast(p *index.NoteTimes) *eventlog.Past {
	if p == nil {
		return nil
	}
	return &eventlog.Past{
		Note: eventlog.Times(p.Note), Sections: storedTimes(p.Sections), Traits: storedTimes(p.Traits),
	}
}

// storedTimes returns times in the form that a commit stores.
func storedTimes(all []index.Times) []eventlog.Times {
	var stored []eventlog.Times
	for _, t := range all {
		stored = append(stored, eventlog.Times(t))
	}
	return stored
}
