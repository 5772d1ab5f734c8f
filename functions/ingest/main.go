// Ingest notices which files of vaults others have changed in the bucket.
package main

import "rookery/internal/awsapp"

func main() { awsapp.ServeIngest() }
