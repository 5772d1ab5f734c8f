package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// years creates a data directory in which a vault was written in several months, and returns the
// files of its folder.
func years(t *testing.T) (string, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for i, month := range []string{"2031-10", "2031-11", "2032-02"} {
		at, err := time.Parse("2006-01", month)
		require.NoError(t, err)
		app := openAt(t, dir, func() time.Time { return at })
		if i == 0 {
			must(t, local{app}, "team_vault_create", args{"name": "v"})
			put(t, local{app}, map[string]string{"schema.yaml": "types: {meeting: {}}\ntraits: {due: date}\n"})
		}
		put(t, local{app}, map[string]string{
			"all.md":      fmt.Sprintf("# All\n\n- @due(2032-03-0%d) the same thing\n", i+1),
			month + ".md": "# Note\n\n## Part\n\n::meeting()\n\n- @due(2032-03-01) of " + month + "\n",
		})
		require.NoError(t, app.Close())
	}
	return dir, folder(t, folderOf(dir))
}

// remembered returns the ids and times of every object and trait of a vault.
func remembered(t *testing.T, dir string) string {
	t.Helper()
	app := openAt(t, dir, later)
	defer func() { require.NoError(t, app.Close()) }()
	type thing struct {
		ID       string `json:"id"`
		First    string `json:"first_seen_at"`
		Modified string `json:"last_modified_at"`
	}
	var all struct{ Items []thing }
	for _, list := range []args{{"type": "page"}, {"type": "meeting"}} {
		got := into[struct{ Items []thing }](t, must(t, local{app}, "raven_object_list", list))
		all.Items = append(all.Items, got.Items...)
	}
	got := into[struct{ Items []thing }](t,
		must(t, local{app}, "raven_trait_list", args{"trait_type": "due"}))
	all.Items = append(all.Items, got.Items...)
	require.NotEmpty(t, got.Items)
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	return string(text)
}

// later returns a time after all times in the months.
func later() time.Time { return time.Date(2032, 5, 1, 9, 0, 0, 0, time.UTC) }

// TestClosedMonths checks that the months of an audit log verify, are exported as one file, and are
// imported into another vault from its folder, in one call or many, with their ids and times; and
// that the folder adds nothing to the vault itself.
func TestClosedMonths(t *testing.T) {
	dir, files := years(t)
	require.Subset(t, slices.Collect(maps.Keys(files)), []string{
		".raven/audit.2031-10.log", ".raven/audit.2031-11.log", ".raven/audit.log",
	})
	require.NotContains(t, files, ".raven/audit.2031-12.log")
	audit := repotest.TakeAudit(maps.Clone(files))
	requireFinding(t, only(examined(t, dir), "audit log"), doctor.LevelOK, "",
		fmt.Sprintf("%d lines", strings.Count(audit, "\n")))
	want := remembered(t, dir)

	app := openAt(t, dir, later)
	must(t, local{app}, "team_audit_verify", args{"vault": "v"})
	require.Equal(t, audit, export(t, local{app})[".raven/audit.log"])
	for _, notes := range [][]args{listOf(files), listOf(map[string]string{".raven/audit.log": audit})} {
		out := into[struct{ Created, Skipped int }](t,
			must(t, local{app}, "team_vault_import", args{"notes": notes}))
		require.Zero(t, out.Created)
		require.Equal(t, len(notes), out.Skipped)
	}
	for _, one := range listOf(files) {
		must(t, local{app}, "team_vault_import", args{"notes": []args{one}})
	}
	require.Equal(t, audit, export(t, local{app})[".raven/audit.log"], "nothing is told twice")
	require.NoError(t, app.Close())

	for name, calls := range map[string][][]args{
		"one call": {listOf(files)}, "a call for each": slices.Collect(slices.Chunk(listOf(files), 1)),
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			app := openAt(t, to, later)
			must(t, local{app}, "team_vault_create", args{"name": "v"})
			for _, notes := range calls {
				must(t, local{app}, "team_vault_import", args{"notes": notes})
			}
			must(t, local{app}, "team_audit_verify", args{"vault": "v"})
			require.NoError(t, app.Close())
			require.Equal(t, want, remembered(t, to))
			require.True(t, strings.HasPrefix(repotest.TakeAudit(folder(t, folderOf(to))), audit))
		})
	}
}

// TestClosedMonthIsDamaged checks that a truncated closed month is reported by the tool and by the
// doctor, with its name and line.
func TestClosedMonthIsDamaged(t *testing.T) {
	dir, files := years(t)
	const november = ".raven/audit.2031-11.log"
	text := files[november]
	cut := text[:strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1]
	require.NoError(t, os.WriteFile(filepath.Join(folderOf(dir), november), []byte(cut), 0o600))
	line := strings.Count(text, "\n")
	requireFinding(t, only(examined(t, dir), "audit log"), doctor.LevelError, fault.FileError,
		fmt.Sprintf("line %d of %s is missing", line, november))
	app := openAt(t, dir, later)
	defer func() { require.NoError(t, app.Close()) }()
	f := refused(t, fault.FileError, local{app}, "team_audit_verify", args{"vault": "v"})
	require.Equal(t, &fault.Location{File: november, Line: line}, f.Location)
}
