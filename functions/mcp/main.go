// Mcp answers every request: MCP, tools by their names, the pages that describe them, and all routes.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Everything) }
