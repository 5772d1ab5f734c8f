// Team answers requests for the routes of the team tools: vaults, tokens, members, issuers, jobs and the audit.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.Serve(awsapp.Family("team")) }
