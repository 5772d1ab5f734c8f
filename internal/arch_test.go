package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the packages from the bottom up (DESIGN §2). A package imports only what stands in a
// line above its own, or, where the line says so, in its own.
var layers = [][]string{
	{"control", "imagecode", "parallel"},
	{"fault"},
	{"backup"},
	{"auth", "blob", "doctor", "forwarded", "httpbody", "table"},
	{"eventlog"}, // below the domain: the log knows no state
	{"config", "markdown", "yamltext"},
	{"vault"},
	{"convert", "merge"},
	{"search"},
	{"memory"},
	{"index"},
	{"ci", "query", "relink", "tree"},
	{"authtest", "blobtest", "casefoldfs", "crashdisk", "leaktest", "tabletest"},
	{"awsclient", "lambdahost"},
	{"fileblob", "bolttable", "watch", "dynamotable", "s3blob"},
	{"awstest"},
	{"credential", "vaultdir"},
	{"job", "repo"},
	{"auditlog", "eventsource", "intake", "session", "sqsqueue"},
	{"checkout", "repotest"},
	{"tenant"},
	{"stream"},
	{"ingest"},
	{"tool"},
	{"access", "audit", "limit", "session"},
	{"janitor"},
	{"metric"},
	{"openapi"},
	{"httptool", "mcptool", "clitool"},
	{"bridge"},
	{"tooltest"},
	{"tools/state"},
	{"tools/mutation"},
	{"tools/memory", "tools/notes", "tools/orient", "tools/raven", "tools/team", "tools/tree"},
	{"hosted"},
	{"hosted/testdata/function"},
	{"awsapp", "awsops", "localapp"},
	{"localcloud"},
	{"cloudtest"},
}

// modules are the modules that the product and its tests import, and the packages that may: a
// dependency is a decision (STYLE 22). A package ending in "_test" stands for tests only.
var modules = map[string][]string{
	"github.com/agnivade/levenshtein":   {"internal/fault"},
	"github.com/anishathalye/porcupine": {"_test", "internal/repotest"},
	"github.com/aws/aws-lambda-go":      {"internal/awsapp", "internal/eventsource", "internal/lambdahost"},
	"github.com/aws/aws-sdk-go-v2": {
		"internal/awsclient", "internal/awstest", "internal/dynamotable", "internal/s3blob", "internal/awsapp",
		"internal/awsops", "internal/cloudtest", "internal/eventsource", "internal/localcloud",
		"internal/sqsqueue", "bench", "cmd/cli",
	},
	"github.com/aws/smithy-go":                   {"internal/awsclient", "internal/dynamotable", "internal/s3blob", "internal/sqsqueue", "internal/awsapp", "internal/awsops"},
	"github.com/awslabs/aws-lambda-go-api-proxy": {"internal/awsapp"},
	"github.com/aymanbagabas/go-udiff":           {"internal/merge"},
	"github.com/bits-and-blooms/bloom/v3":        {"internal/repo"}, // finds the runs that a name may be in
	"github.com/blevesearch/snowballstem":        {"internal/search"},
	"github.com/chromedp/chromedp":               {"_test"},
	"github.com/chromedp/cdproto":                {"_test"},
	"github.com/creack/pty":                      {"cmd/cli"}, // the terminal of a command that rookery ci runs
	"github.com/fsnotify/fsnotify":               {"internal/watch"},
	"github.com/gofrs/flock":                     {"internal/credential"},
	"github.com/git-pkgs/gitignore":              {"internal/vault"}, // patterns of raven.yaml: exclude; it passes Git's own tests
	"github.com/go-jose/go-jose/v4":              {"internal/auth", "internal/localcloud"},
	"github.com/golang-jwt/jwt/v5":               {"internal/auth", "internal/localcloud"},
	"github.com/google/jsonschema-go":            {"internal/tool", "internal/clitool", "internal/mcptool", "internal/openapi", "internal/tooltest"},
	"github.com/gosimple/slug":                   {"internal/vault"},
	"github.com/hanwen/go-fuse/v2":               {"_test", "internal/casefoldfs"},
	"github.com/hashicorp/golang-lru/v2": {
		"internal/auth", "internal/eventlog", "internal/repo", "internal/fileblob", "internal/tenant", "internal/limit",
		"internal/access", "internal/audit",
	},
	"github.com/jedib0t/go-pretty/v6":             {"internal/clitool", "internal/ci"},
	"github.com/klauspost/compress":               {"internal/eventlog", "internal/repo", "internal/httptool", "internal/backup"},
	"github.com/modelcontextprotocol/go-sdk":      {"internal/mcptool", "internal/bridge", "internal/tooltest"},
	"github.com/oklog/ulid/v2":                    {"internal/index"}, // how the ids of nodes are written
	"github.com/prometheus/client_golang":         {"internal/metric"},
	"github.com/rogpeppe/go-internal":             {"_test"},
	"github.com/schollz/progressbar/v3":           {"internal/clitool"},
	"github.com/spf13/cobra":                      {"internal/clitool", "cmd/cli"},
	"github.com/spf13/pflag":                      {"internal/clitool", "cmd/cli"},
	"github.com/stretchr/testify":                 {"_test", "internal/blobtest", "internal/leaktest", "internal/repotest", "internal/tabletest", "internal/tooltest"},
	"github.com/bmatcuk/doublestar/v4":            {"internal/memory", "cmd/cli"}, // patterns of files with **, which path.Match has not
	"github.com/testcontainers/testcontainers-go": {"localstack/docker"},          // a module of its own
	"github.com/tidwall/btree":                    {"internal/imagecode", "internal/index", "internal/memory"},
	"github.com/yuin/goldmark":                    {"_test", "internal/markdown"},
	"github.com/zalando/go-keyring":               {"internal/credential"},
	"go.etcd.io/bbolt":                            {"internal/bolttable"},
	"go.yaml.in/yaml/v4":                          {"_test", "infra", "internal/config", "internal/credential", "internal/markdown", "internal/memory", "internal/vault", "internal/yamltext"},
	"golang.org/x/sys": {"bench/retrieval", "internal/fileblob", "internal/casefoldfs", "internal/vaultdir", "internal/localapp",
		"internal/watch"},
	"golang.org/x/term":  {"cmd/cli"},
	"golang.org/x/text":  {"internal/auth", "internal/index", "internal/markdown", "internal/vault", "internal/search"},
	"modernc.org/sqlite": {"cmd/cli"}, // databases of RUM, which rookery memory import reads
	"pgregory.net/rapid": {"_test"},
}

// forbidden are standard packages that a folder must not import: the laws of DESIGN §1.4, and the
// purity of the domain.
var forbidden = map[string][]string{
	"internal/tools":    {"net/http", "github.com/spf13/cobra", "github.com/modelcontextprotocol/go-sdk"},
	"internal/ci":       {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/markdown": {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/merge":    {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/vault":    {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/memory":   {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/search":   {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/relink":   {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/index":    {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/query":    {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/tree":     {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
	"internal/yamltext": {"os", "net", "net/http", "math/rand", "crypto/rand", "io/fs"},
}

// ownModule is the path of this module.
const ownModule = "github.com/rookeryhq/rookery"

// A source is one Go file: its package's folder, and what it imports.
type source struct {
	file, folder string
	imports      []string
}

func TestImportsPointDown(t *testing.T) {
	rank := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			rank["internal/"+p] = i
		}
	}
	for _, s := range sources(t) {
		own, ok := rank[s.folder]
		if !ok || strings.HasSuffix(s.file, "_test.go") {
			continue
		}
		for _, path := range s.imports {
			other, ok := rank[strings.TrimPrefix(path, ownModule+"/")]
			require.False(t, ok && other >= own, "%s imports %s, which is not below it", s.file, path)
		}
	}
}

func TestEveryPackageHasALayer(t *testing.T) {
	var known []string
	for _, layer := range layers {
		known = append(known, layer...)
	}
	for _, s := range sources(t) {
		name, inside := strings.CutPrefix(s.folder, "internal/")
		require.True(t, !inside || slices.Contains(known, name), "%s has no line in layers", s.folder)
	}
}

// forTests are the packages that only tests import, and one another.
var forTests = []string{
	"internal/authtest", "internal/awstest", "internal/blobtest", "internal/leaktest", "internal/casefoldfs",
	"internal/cloudtest", "internal/eventsource", "internal/lambdahost", "internal/localcloud",
	"internal/repotest", "internal/tabletest", "internal/tooltest",
	"bench", "localstack/local-cloud",
}

func TestTheProductImportsNoTests(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasSuffix(s.file, "_test.go") || slices.Contains(forTests, s.folder) {
			continue
		}
		for _, path := range s.imports {
			own := strings.TrimPrefix(path, ownModule+"/")
			require.False(t, path == "testing" || slices.Contains(forTests, own),
				"%s imports %s", s.file, path)
		}
	}
}

func TestModulesAreDecisions(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, path := range s.imports {
			module := moduleOf(path)
			if module == "" {
				continue
			}
			used[module] = true
			require.True(t, mayImport(s, modules[module]), "%s imports %s", s.file, module)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(modules)), slices.Collect(maps.Keys(used)))
}

func mayImport(s source, allowed []string) bool {
	return slices.Contains(allowed, s.folder) ||
		strings.HasSuffix(s.file, "_test.go") && slices.Contains(allowed, "_test") ||
		strings.HasSuffix(s.file, "_test.go") && slices.ContainsFunc(allowed, func(p string) bool {
			return p != "_test"
		})
}

// moduleOf is the module of a third party that an import path belongs to.
func moduleOf(path string) string {
	for module := range modules {
		if path == module || strings.HasPrefix(path, module+"/") {
			return module
		}
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") || path == ownModule || strings.HasPrefix(path, ownModule+"/") {
		return ""
	}
	return path
}

func TestLaws(t *testing.T) {
	for _, s := range sources(t) {
		for folder, never := range forbidden {
			if !strings.HasPrefix(s.folder+"/", folder+"/") || strings.HasSuffix(s.file, "_test.go") {
				continue
			}
			for _, path := range s.imports {
				for _, p := range never {
					within := strings.Contains(p, ".") && strings.HasPrefix(path, p+"/")
					require.False(t, path == p || within,
						"%s imports %s", s.file, path)
				}
			}
		}
	}
}

// projections are the packages that must not know a tool by name.
var projections = []string{
	"internal/tool", "internal/httptool", "internal/mcptool", "internal/clitool", "internal/openapi",
	"internal/bridge",
}

func TestNoProjectionKnowsATool(t *testing.T) {
	names := toolNames(t)
	require.NotEmpty(t, names)
	for _, s := range sources(t) {
		if !slices.Contains(projections, s.folder) || strings.HasSuffix(s.file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", s.file))
		require.NoError(t, err)
		for _, name := range names {
			named := strings.Contains(string(text), strconv.Quote(name))
			require.False(t, named, "%s names the tool %s", s.file, name)
		}
	}
}

// toolNames are the names in the Specs of internal/tools.
func toolNames(t *testing.T) []string {
	var names []string
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.folder, "internal/tools/") || strings.HasSuffix(s.file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", s.file))
		require.NoError(t, err)
		for _, after := range strings.Split(string(text), "Name: \"")[1:] {
			name, _, _ := strings.Cut(after, "\"")
			if strings.Contains(name, "_") { // a resource has a name, too
				names = append(names, name)
			}
		}
	}
	return names
}

// sources are the Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") ||
			slices.Contains([]string{"testdata", "data", "tools", "bin"}, d.Name()) &&
				filepath.Dir(path) == "..") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		all = append(all, read(t, path))
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func read(t *testing.T, path string) source {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	require.NoError(t, err)
	file := strings.TrimPrefix(filepath.ToSlash(path), "../")
	s := source{file: file, folder: filepath.ToSlash(filepath.Dir(file))}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		s.imports = append(s.imports, p)
	}
	return s
}
