package index_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamed(t *testing.T) {
	x := of([]string{
		"plans/ferry-timetable.md", "---\naliases: [Boat Times, \"Fähren\"]\n---\n# Ferries of the summer\n\n## Ferry timetable\n",
		"other.md", "# Ferry Timetable\n", "people/freya.md", "---\ntitle: Freya Holm\n---\n",
	})
	for name, want := range map[string][]string{
		"Ferry Timetable":          {"other.md", "plans/ferry-timetable.md"},
		"ferry timetable":          {"other.md", "plans/ferry-timetable.md"},
		"plans/ferry-timetable":    {"plans/ferry-timetable.md"},
		"boat times":               {"plans/ferry-timetable.md"},
		"fähren":                   {"plans/ferry-timetable.md"},
		"ferries of the summer":    {"plans/ferry-timetable.md"},
		"FREYA HOLM":               {"people/freya.md"},
		"freya":                    {"people/freya.md"},
		"ferry":                    nil,
		"the ferry timetable":      nil,
		"":                         nil,
		"[[ferry-timetable|boat]]": nil,
	} {
		require.Equal(t, want, x.Named(name), name)
	}
}

func TestANameOfVeryManyNamesNone(t *testing.T) {
	var files []string
	for i := range 21 {
		files = append(files, fmt.Sprintf("%02d/meeting.md", i), "text\n")
	}
	require.Len(t, of(files[:40]).Named("Meeting"), 20)
	require.Empty(t, of(files).Named("Meeting"))
}
