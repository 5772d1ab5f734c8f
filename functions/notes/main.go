// Notes answers requests for the routes of the notes tools: notes by path, lists, search and outlines.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("notes")) }
