package notes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pathsOut are paths that lead out of a vault, with the message of each.
func pathsOut() map[string]string {
	const (
		nul      = "a path must not contain NUL"
		absolute = "a path must be relative to the vault and not begin with /"
		letter   = "a path must be relative to the vault and not contain a drive"
		above    = "a path must not contain the folder .."
	)
	all := map[string]string{}
	for _, p := range []string{"secret", "etc/passwd", "Users/x.md", "a b", "日本", ".hidden", "x/../y", "~"} {
		for _, before := range []string{"/", "//", `\`, `\\`, " /", "\t/", "/./", `/\`} {
			all[before+p] = absolute
		}
		for _, before := range []string{"../", "../../", "a/../", "./../", `..\`, `a\..\`, "a/b/../../../", "a//../", " ../"} {
			all[before+p] = above
		}
		for _, before := range []string{"C:", "c:/", `D:\`, "z:../", "C:./"} {
			all[before+p] = letter
		}
		all[p+"/.."], all[p+`\..`], all["a/"+p+"/../b"] = above, above, above
		all[p+"\x00"], all["a\x00/"+p], all["\x00"+p] = nul, nul, nul
	}
	all[".."], all["../"], all["/"], all["//"], all[`\`] = above, above, absolute, absolute, absolute
	return all
}

// TestPathsOut covers every tool of the family that takes a path. No answer quotes the path.
func TestPathsOut(t *testing.T) {
	p := open(t, map[string]string{"a.md": "text"})
	paths := pathsOut()
	require.GreaterOrEqual(t, len(paths), 190)
	for _, made := range p.catalogue.Tools() {
		if made.Family.Name != "notes" {
			continue
		}
		for _, name := range []string{"path", "folder"} {
			if a, takes := made.Arg(name); !takes || a.Name != name { // the target of an export may be words
				continue
			}
			for path, message := range paths {
				in := args{name: path}
				if a, _ := made.Arg("query"); a.Required && a.Name == "query" {
					in["query"] = "x"
				}
				if _, takes := made.Arg("content"); takes {
					in["content"] = "x"
				}
				f, answer := p.refused(t, made.Name, in)
				require.Equal(t, "INVALID_PATH", string(f.Code), "%s %q", made.Name, path)
				require.Equal(t, fmt.Sprintf(`{"error":%q,"code":"INVALID_PATH"}`, message), answer, "%s %q", made.Name, path)
				require.NotContains(t, f.Error(), strings.Trim(path, `./\ `)+"!", "the path")
			}
		}
	}
	for _, path := range []string{" ", ".", "./", "./.", `.\`} {
		f, _ := p.refused(t, "notes_get", args{"path": path})
		require.Equal(t, "INVALID_PATH", string(f.Code), "%q", path)
	}
	for _, path := range []string{"a.md", "a", " a.md", "./a", "a.md/", ".//a", `.\a.md`, "\ufeffa"} {
		require.Contains(t, p.bare(t, "notes_get", args{"path": path}), `{"path":"a.md",`, "%q", path)
	}
	for _, path := range []string{"b", "A", "a.MD", "a.markdown", "...", "a..", "..a", "a/b", "%2e%2e/a", "a?b", "a#b", "nul", strings.Repeat("x", 4000)} {
		f, answer := p.refused(t, "notes_get", args{"path": path})
		require.Equal(t, "NOT_FOUND", string(f.Code), "%q", path)
		require.Equal(t, `{"error":"there is no note at that path","code":"NOT_FOUND"}`, answer)
	}
}
