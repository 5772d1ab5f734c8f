// Janitor asks for what was left undone, once an hour.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.ServeJanitor() }
