// Package openapi has the descriptions of the tools that `make docs` generates from their Specs: openapi.json,
// and the page of a server's /docs.
package openapi

import _ "embed"

//go:embed docs.html
var docs string

// Docs is the page that describes all tools of the product, in HTML.
func Docs() []byte { return []byte(docs) }
