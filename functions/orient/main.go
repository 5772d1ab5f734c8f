// Orient answers requests for the routes of orientation: the overview of a vault, its folders, tags and fields.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("orient")) }
