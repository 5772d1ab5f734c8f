// Memory answers requests for the routes of memories, chapters, wisdom and agents.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("memory")) }
