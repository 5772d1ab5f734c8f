// Raven answers requests for the routes of the raven tools: objects, traits, the schema, queries and history.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("raven")) }
