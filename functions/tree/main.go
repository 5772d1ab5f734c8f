// Tree answers requests for the routes of the tree tools: folders, notes and sections as nodes.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("tree")) }
