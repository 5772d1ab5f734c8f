// Ingest notices which files of vaults others have changed in the bucket.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.ServeIngest() }
