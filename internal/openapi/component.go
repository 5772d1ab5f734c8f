package openapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// ref returns a reference to a component of a kind, such as schemas.
func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

func inJSON(schema any) object { return object{"application/json": object{"schema": schema}} }

// answerOf returns the schema of the envelope of an answer. data is the schema of its data.
func answerOf(data any) object {
	return object{
		"type":     "object",
		"required": []string{"ok", "data", "warnings"},
		"properties": object{
			"ok":       object{"const": true},
			"data":     data,
			"warnings": ref("schemas", "Warnings"),
			"meta":     ref("schemas", "Meta"),
		},
	}
}

// responses returns the responses of an operation: the answer to a success, and references to those
// of the failures with these statuses.
func responses(answer object, statuses []string) object {
	all := object{"200": object{
		"description": "What was asked for.", "content": inJSON(answer),
		"headers": withRates(object{
			"ETag": ref("headers", "ETag"), "X-Request-Id": ref("headers", "RequestId"),
		}),
	}}
	for _, status := range statuses {
		all[status] = ref("responses", "Status"+status)
	}
	return all
}

// components returns the components that the operations refer to.
func components(tools []*tool.Tool) object {
	schemas := definitions(tools)
	maps.Copy(schemas, object{
		"Warnings": warnings(), "Meta": meta(), "Failure": failure(), "Error": errorSchema(),
	})
	return object{
		"securitySchemes": object{"bearer": object{
			"type": "http", "scheme": "bearer", "bearerFormat": "a JWT, or rk_ID.SECRET",
			"description": "A JSON Web Token of an issuer that the server or the tenant trusts, or an API " +
				"token. A server on loopback that nothing is configured for needs none. Each operation " +
				"says in `x-role` which role it needs.",
		}},
		"parameters": parameters(),
		"headers":    headers(),
		"responses":  failures(),
		"schemas":    schemas,
	}
}

func parameters() object {
	header := func(name, doc string, schema object) object {
		return object{"name": name, "in": "header", "description": doc, "schema": schema}
	}
	text := func(longest int) object {
		return object{"type": "string", "minLength": 1, "maxLength": longest}
	}
	return object{
		"IfMatch": header("If-Match",
			"The version that the change builds on: the ETag of an answer.",
			object{"type": "string", "pattern": `^(W/)?"[^"]+"$`, "examples": []string{`"v42"`}}),
		"IdempotencyKey": header("Idempotency-Key",
			"Any text of yours: a repeated call with the same key has one effect, and the first answer.",
			text(255)),
		"AgentId":   header("X-Agent-Id", "Who acts under the principal.", text(tool.MaxActor)),
		"SessionId": header("X-Session-Id", "Whose view state is meant.", text(tool.MaxActor)),
		"Readonly": header("X-Readonly", "1: refuse the call if it would change anything.",
			object{"type": "string", "enum": []string{"0", "1", "false", "true"}}),
		"RequestId": header("X-Request-Id",
			"Names the call in logs and answers: up to 128 printable ASCII characters, without spaces. "+
				"For any other, and without one, the server makes one up.",
			object{"type": "string"}),
	}
}

func headers() object {
	header := func(doc, kind string) object {
		return object{"description": doc, "schema": object{"type": kind}}
	}
	return object{
		"ETag":               header("The version of the state that was read.", "string"),
		"RateLimitLimit":     header("The number of calls that the rate of the caller allows at once.", "integer"),
		"RateLimitRemaining": header("The number of calls that remain now.", "integer"),
		"RateLimitReset":     header("Seconds until the whole number is available again.", "integer"),
		"RequestId":          header("The id of the call in the log.", "string"),
		"RetryAfter":         header("Seconds after which the same call can succeed.", "integer"),
		"WWWAuthenticate":    header("How to authenticate or, with 403, what the token lacks.", "string"),
	}
}

// withRates adds the headers that report the remaining rate of the caller, and returns headers. The
// server sends none of them to a caller without a rate limit.
func withRates(headers object) object {
	for _, what := range []string{"Limit", "Remaining", "Reset"} {
		headers["RateLimit-"+what] = ref("headers", "RateLimit"+what)
	}
	return headers
}

// failures returns the responses for each status of a failure, with the error codes that have that
// status.
func failures() object {
	codes := map[string][]string{}
	for _, code := range fault.Codes() {
		status := strconv.Itoa(fault.New(code, "").HTTP())
		codes[status] = append(codes[status], string(code))
	}
	codes["413"] = []string{string(fault.BatchTooLarge)}
	all := object{}
	for status, list := range codes {
		with := object{"X-Request-Id": ref("headers", "RequestId")}
		if slices.Contains([]string{"429", "503"}, status) {
			with["Retry-After"] = ref("headers", "RetryAfter")
		}
		if status == "429" {
			with = withRates(with)
		}
		if slices.Contains([]string{"401", "403"}, status) {
			with["WWW-Authenticate"] = ref("headers", "WWWAuthenticate")
		}
		n, _ := strconv.Atoi(status) // it was formatted from a number
		all["Status"+status] = object{
			"description": http.StatusText(n) + ": " + strings.Join(list, ", ") + ".",
			"headers":     with, "content": inJSON(ref("schemas", "Failure")),
		}
	}
	all["Status431"] = object{ // sent by net/http itself, before there is a request
		"description": "Request Header Fields Too Large: the address and the headers are over 64 KiB.",
		"content":     object{"text/plain": object{"schema": object{"type": "string"}}},
	}
	return all
}

func warnings() object {
	return object{
		"type": "array", "maxItems": 100, "items": object{
			"type": "object", "required": []string{"code", "message"}, "properties": object{
				"code": object{"type": "string"}, "message": object{"type": "string"},
			},
		},
	}
}

func meta() object {
	return object{
		"type":        "object",
		"description": "Metadata of the answer. It can have other keys too.",
		"properties": object{
			"version":         object{"type": "string", "description": "the version of the state that was read"},
			"count":           object{"type": "integer", "description": "items in this answer"},
			"total":           object{"type": "integer", "description": "items in all"},
			"has_more":        object{"type": "boolean"},
			"next_page_token": object{"type": "string", "description": "page_token of the next page"},
			"query_time_ms":   object{"type": "integer"},
		},
	}
}

func failure() object {
	return object{
		"type":     "object",
		"required": []string{"ok", "error", "warnings"},
		"properties": object{
			"ok":       object{"const": false},
			"error":    ref("schemas", "Error"),
			"data":     object{"description": "the partial result, or details of the failure"},
			"warnings": ref("schemas", "Warnings"),
			"meta":     ref("schemas", "Meta"),
		},
	}
}

func errorSchema() object {
	var statuses []fault.Status
	for _, code := range fault.Codes() {
		if s := code.Status(); !slices.Contains(statuses, s) {
			statuses = append(statuses, s)
		}
	}
	text := func(doc string) object { return object{"type": "string", "description": doc} }
	return object{
		"type":     "object",
		"required": []string{"code", "status", "message"},
		"properties": object{
			"code":    object{"type": "string", "enum": fault.Codes(), "description": "what happened"},
			"status":  object{"type": "string", "enum": statuses, "description": "what to do about it"},
			"message": text("what was wrong, and what would be right"),
			"details": object{"type": "object", "description": "for programs"},
			"failed_at": object{"type": "integer",
				"description": "of a batch: the index of the first operation that failed"},
			"location": object{"type": "object", "required": []string{"file"}, "properties": object{
				"file": object{"type": "string"}, "line": object{"type": "integer"},
			}},
			"errors": object{"type": "array", "items": ref("schemas", "Error"),
				"description": "the single problems, where there are several"},
			"fixes": object{"type": "array", "items": object{"type": "string"},
				"description": "each one thing to do: a call, such as raven_read {\"path\":\"x\"}, or advice"},
			"retry_after": object{"type": "integer", "description": "seconds to wait"},
			"request_id":  text("names the call in the log"),
		},
	}
}

// definition is the prefix of a reference to a definition in a schema.
const definition = "#/$defs/"

// outputOf returns the schema of the data in a tool's answers. Recursive types are not in it: they
// are components of the document, named after the tool and the type.
func outputOf(t *tool.Tool) *jsonschema.Schema {
	s := t.OutputSchema()
	if len(s.Defs) == 0 {
		return s
	}
	s = referring(s, t)
	s.Defs = nil
	return s
}

// definitions returns the recursive types of the answers of all tools, as components.
func definitions(tools []*tool.Tool) object {
	all := object{}
	for _, t := range tools {
		for name, s := range t.OutputSchema().Defs {
			all[componentOf(t, name)] = referring(s, t)
		}
	}
	return all
}

// componentOf returns the name of the component for a recursive type of a tool's answer.
func componentOf(t *tool.Tool, name string) string { return t.Name + "_" + name }

// referring returns a copy of a schema in which references to definitions are references to
// components.
func referring(s *jsonschema.Schema, t *tool.Tool) *jsonschema.Schema {
	s = s.CloneSchemas()
	retarget(s, t)
	return s
}

func retarget(s *jsonschema.Schema, t *tool.Tool) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, definition); ok {
		s.Ref = "#/components/schemas/" + componentOf(t, name)
	}
	inner := append([]*jsonschema.Schema{s.Items, s.AdditionalProperties}, s.AnyOf...)
	for _, one := range slices.AppendSeq(inner, maps.Values(s.Properties)) {
		retarget(one, t)
	}
}
