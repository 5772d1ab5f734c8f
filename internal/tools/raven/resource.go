package raven

import "github.com/rookeryhq/rookery/internal/tool"

// noteResource is a note as a resource. Its text is the content that raven_read returns.
var noteResource = tool.Resource{
	URI: "rookery://{vault}/notes/{+path}", Name: "notes", Title: "Note",
	Doc:  "The text of a note or, with #slug, of one of its sections. The path can be given without .md.",
	MIME: "text/markdown", Key: "content",
}

// schemaResource is the schema of a vault as a resource, in the form that raven_schema returns.
var schemaResource = tool.Resource{
	URI: "rookery://{vault}/schema", Name: "schema", Title: "Schema",
	Doc:  "The types, traits, saved queries and settings of the vault.",
	MIME: "application/json", Each: true,
}
