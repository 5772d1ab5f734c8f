package openapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/openapi"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// read makes the document of tools and reads it back.
func read(t *testing.T, tools []*tool.Tool) (raw string, doc map[string]any) {
	t.Helper()
	data, err := openapi.Document(tools, openapi.Info{Version: "1.2.3"})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &doc))
	return string(data), doc
}

// at follows keys into the document.
func at(t *testing.T, doc any, keys ...string) any {
	t.Helper()
	for _, key := range keys {
		object, ok := doc.(map[string]any)
		require.True(t, ok, keys)
		require.Contains(t, object, key)
		doc = object[key]
	}
	return doc
}

func TestDocumentIsDeterministic(t *testing.T) {
	tools := tooltest.SampleTools()
	first, doc := read(t, tools)
	slices.Reverse(tools)
	second, _ := read(t, tools)
	require.Equal(t, first, second)
	require.Equal(t, "3.1.0", doc["openapi"])
	require.Equal(t, "1.2.3", at(t, doc, "info", "version"))
}

func TestEveryTool(t *testing.T) {
	_, doc := read(t, tooltest.SampleTools())
	for _, tl := range tooltest.SampleTools() {
		op := at(t, doc, "paths", tl.Path(), strings.ToLower(tl.Route.Method))
		require.Equal(t, tl.Name, at(t, op, "operationId"))
		require.Equal(t, []any{tl.Family.Name}, at(t, op, "tags"))
		require.Equal(t, tl.Title, at(t, op, "summary"))
		require.Equal(t, tl.Prose().Text, at(t, op, "description"))
		require.Equal(t, string(tl.Role), at(t, op, "x-role"))
		require.Equal(t, true, at(t, op, "responses", "200", "content", "application/json", "schema",
			"properties", "ok", "const"))
		require.Subset(t, namesIn(t, doc, op), argumentsOf(tl), tl.Name)
		require.Contains(t, at(t, doc, "paths", "/v1/tools/{name}", "post", "parameters").([]any)[0].(map[string]any)["schema"].(map[string]any)["enum"], tl.Name)
	}
	require.Equal(t, "destroy", at(t, doc, "paths", "/v1/vaults/{vault}/books/{id}", "delete", "x-kind"))
}

// argumentsOf are the arguments of a tool as the document calls them, without the shared ones.
func argumentsOf(tl *tool.Tool) (names []string) {
	called := map[string]string{"if_version": "If-Match", "idempotency_key": "Idempotency-Key"}
	for _, a := range tl.Args {
		switch {
		case a.Shared:
		case called[a.Name] != "":
			names = append(names, called[a.Name])
		default:
			names = append(names, a.Name)
		}
	}
	return names
}

// namesIn are the parameters of an operation, and the properties of its body.
func namesIn(t *testing.T, doc, op any) (names []string) {
	for _, p := range at(t, op, "parameters").([]any) {
		names = append(names, at(t, resolve(t, doc, p), "name").(string))
	}
	if body, ok := op.(map[string]any)["requestBody"]; ok {
		schema := at(t, body, "content", "application/json", "schema").(map[string]any)
		require.Equal(t, false, schema["additionalProperties"])
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			names = append(names, name)
		}
	}
	return names
}

// resolve is what a value refers to, or the value itself.
func resolve(t *testing.T, doc, value any) any {
	object, _ := value.(map[string]any)
	target, ok := object["$ref"].(string)
	if !ok {
		return value
	}
	require.True(t, strings.HasPrefix(target, "#/"), target)
	return at(t, doc, strings.Split(target[2:], "/")...)
}

func TestItemsByQuery(t *testing.T) {
	_, doc := read(t, tooltest.SampleTools())
	collection := at(t, doc, "paths", "/v1/vaults/{vault}/books").(map[string]any)
	require.Equal(t, "books_book_list", at(t, collection, "get", "operationId"), "a route of another tool stays its own")
	for method, id := range map[string]string{"delete": "books_book_delete", "patch": "books_book_set"} {
		op := at(t, collection, method)
		require.Equal(t, id+"_by_query", at(t, op, "operationId"))
		var query []string
		for _, p := range at(t, op, "parameters").([]any) {
			if parameter := resolve(t, doc, p); at(t, parameter, "in") == "query" {
				query = append(query, at(t, parameter, "name").(string))
			}
		}
		require.Contains(t, query, "id")
	}
}

func TestReferencesResolve(t *testing.T) {
	_, doc := read(t, tooltest.SampleTools())
	count := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["$ref"]; ok {
				count++
				resolve(t, doc, v)
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	walk(doc)
	require.NotZero(t, count)
}

// TestParameters covers that each path parameter is described once, and is required, and that no
// parameter stands twice in one operation.
func TestParameters(t *testing.T) {
	_, doc := read(t, tooltest.SampleTools())
	for path, item := range at(t, doc, "paths").(map[string]any) {
		for method, op := range item.(map[string]any) {
			seen := map[string]bool{}
			for _, p := range at(t, op, "parameters").([]any) {
				p = resolve(t, doc, p)
				name, in := at(t, p, "name").(string), at(t, p, "in").(string)
				require.False(t, seen[in+name], "%s %s: %s", method, path, name)
				seen[in+name] = true
				if in == "path" {
					require.Contains(t, path, "{"+name+"}")
					require.Equal(t, true, at(t, p, "required"))
				}
			}
			require.Equal(t, strings.Count(path, "{"), strings.Count(strings.Join(inPath(seen), ""), "path"))
		}
	}
}

func inPath(seen map[string]bool) (names []string) {
	for name := range seen {
		if strings.HasPrefix(name, "path") {
			names = append(names, "path")
		}
	}
	return names
}

func TestCodes(t *testing.T) {
	_, doc := read(t, tooltest.SampleTools())
	listed := at(t, doc, "components", "schemas", "Error", "properties", "code", "enum").([]any)
	require.Len(t, listed, len(fault.Codes()))
	for status, code := range map[string]fault.Code{
		"400": fault.InvalidField, "409": fault.Conflict, "413": fault.BatchTooLarge, "503": fault.StorageError,
	} {
		require.Contains(t, at(t, doc, "components", "responses", "Status"+status, "description"), string(code))
	}
}

func TestToolWithoutRoute(t *testing.T) {
	tools := tooltest.SampleTools()
	tools[0].Route = tool.Route{}
	_, doc := read(t, tools)
	op := at(t, doc, "paths", "/v1/tools/"+tools[0].Name, "post")
	require.Equal(t, tools[0].Name, at(t, op, "operationId"))
	require.Subset(t, namesIn(t, doc, op), argumentsOf(tools[0]))
}

func TestSharedRoute(t *testing.T) {
	tools := tooltest.SampleTools()
	_, err := openapi.Document(append(tools, tools[0]), openapi.Info{})
	require.ErrorContains(t, err, "two tools share the route")
}

// TestWhoMayCallAndHowOften holds that the document says how a caller is known, what each operation asks of
// it, and which headers say how often it may call.
func TestWhoMayCallAndHowOften(t *testing.T) {
	tools := tooltest.SampleTools()
	_, doc := read(t, tools)
	scheme := at(t, doc, "components", "securitySchemes", "bearer")
	require.Equal(t, "http", at(t, scheme, "type"))
	require.Equal(t, "bearer", at(t, scheme, "scheme"))
	require.Contains(t, doc["security"], map[string]any{"bearer": []any{}})
	rates := []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
	for _, made := range tools {
		op := at(t, doc, "paths", made.Path(), strings.ToLower(made.Route.Method))
		require.Equal(t, string(made.Role), at(t, op, "x-role"), made.Name)
		for _, status := range []string{"401", "403", "429"} {
			require.NotNil(t, resolve(t, doc, at(t, op, "responses", status)), made.Name)
		}
		for _, name := range rates {
			require.NotNil(t, resolve(t, doc, at(t, op, "responses", "200", "headers", name)))
		}
	}
	for status, names := range map[string][]string{
		"401": {"WWW-Authenticate"}, "403": {"WWW-Authenticate"},
		"429": append(rates, "Retry-After"), "503": {"Retry-After"},
	} {
		headers := at(t, doc, "components", "responses", "Status"+status, "headers")
		for _, name := range names {
			require.NotNil(t, resolve(t, doc, at(t, headers, name)), "%s of %s", name, status)
		}
	}
}
