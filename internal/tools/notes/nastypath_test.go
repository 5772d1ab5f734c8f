package notes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// secret is in each path: no fault repeats it.
const secret = "s3cret"

// nastyPaths are 200 paths: what leads out of a vault, names of other systems, separators, blanks, control
// characters, and paths that mean the note s3cret/n.md when they are cleaned.
func nastyPaths() []string {
	bases := []string{
		"s3cret/n.md", "s3cret/n", "s3cret", "s3cret/gone.md", "S3CRET/N.md", "s3cret/n.MD", "s3cret/n.md/x", "s3cret/n.markdown",
		"s3cret/con.md", "s3cret/nul", "s3cret/a:b.md", "s3cret/a|b.md", "s3cret/.md", "s3cret/ .md", "s3cret/a .md", "s3cret/.hidden.md",
		"s3cret/_folder.md", "s3cret/é.md", "s3cret/e\u0301.md", "s3cret/" + strings.Repeat("x", 300) + ".md",
	}
	var all []string
	for _, b := range bases {
		all = append(all,
			b, "./"+b, " "+b+" ", strings.ReplaceAll(b, "/", "//"), strings.ReplaceAll(b, "/", `\\`), b+"/",
			"../"+b, "/"+b, "C:/"+b, strings.Replace(b, "/", "/../", 1)+"\x00")
	}
	return all
}

// isRefused reports by a second reading whether the path rule of the family refuses a path.
func isRefused(path string) bool {
	path = strings.Trim(strings.ReplaceAll(path, `\`, "/"), " ")
	drive := len(path) > 1 && path[1] == ':'
	return strings.Contains(path, "\x00") || strings.HasPrefix(path, "/") || drive ||
		strings.Contains("/"+path+"/", "/../")
}

// isNote reports whether a path means the note, when it is cleaned.
func isNote(path string) bool {
	var kept []string
	for _, s := range strings.Split(strings.Trim(strings.ReplaceAll(path, `\`, "/"), " "), "/") {
		if s != "" && s != "." {
			kept = append(kept, s)
		}
	}
	cleaned := strings.Join(kept, "/")
	return cleaned == "s3cret/n.md" || cleaned == "s3cret/n"
}

// TestNastyPaths covers each path over each tool of the family that takes one.
func TestNastyPaths(t *testing.T) {
	paths := nastyPaths()
	require.Len(t, paths, 200)
	p := open(t, map[string]string{"s3cret/n.md": "---\na: 1\n---\ntext\n", "beside.md": "beside"})
	for _, made := range p.catalogue.Tools() {
		name := map[string]string{"notes_export": "target"}[made.Name]
		if _, ok := made.Arg("path"); ok && name == "" && made.Family.Name == "notes" {
			name = "path"
		}
		if name == "" {
			continue
		}
		t.Run(made.Name, func(t *testing.T) {
			for _, path := range paths {
				in := args{name: path}
				if made.Name == "notes_write" {
					in["content"], in["dry_run"] = "new", true
				}
				answer, err := p.call(t, made.Name, in)
				f := fault.Of(err)
				switch query := name == "target" && !strings.ContainsAny(path, `/\`) && !strings.HasSuffix(path, ".md"); {
				case query, name == "target" && strings.Contains(strings.Trim(path, " "), " "):
					if err != nil {
						require.Equal(t, fault.NotFound, f.Code, "%q: %s", path, answer)
					}
				case isRefused(path):
					require.Error(t, err, "%q", path)
					require.Equal(t, fault.InvalidPath, f.Code, "%q: %s", path, answer)
				case isNote(path) && (made.Name != "notes_write" || strings.Contains(path, ".md")):
					require.NoError(t, err, "%q: %s", path, answer)
					require.Contains(t, answer, `"path":"s3cret/n.md"`)
				case err == nil:
					require.Equal(t, "notes_write", made.Name, "%q: %s", path, answer)
				default:
					require.Contains(t, []fault.Code{fault.NotFound, fault.InvalidPath, fault.DuplicateID}, f.Code, "%q: %s", path, answer)
				}
				if err != nil && f.Code == fault.InvalidPath {
					require.NotContains(t, f.Message+strings.Join(f.Fixes, ""), secret, "%q", path)
				}
			}
		})
	}
	require.Equal(t, "---\na: 1\n---\ntext\n", p.file(t, "s3cret/n.md"))
}
