package raven

import "github.com/rookeryhq/rookery/internal/tool"

// noteResource is a note as a document; its text is what raven_read answers.
var noteResource = tool.Resource{
	URI: "rookery://{vault}/notes/{+path}", Name: "notes", Title: "Note",
	Doc:  "The text of a note or, with #slug, of one of its sections. The path can be given without .md.",
	MIME: "text/markdown", Key: "content",
}

// schemaResource is the schema of a vault, as raven_schema answers it.
var schemaResource = tool.Resource{
	URI: "rookery://{vault}/schema", Name: "schema", Title: "Schema",
	Doc:  "The types, traits, saved queries and settings of the vault.",
	MIME: "application/json", Each: true,
}
