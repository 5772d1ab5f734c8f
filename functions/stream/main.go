// Stream brings the files of notes in step with the logs of their vaults, behind the stream of the table.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.ServeStream() }
