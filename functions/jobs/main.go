// Jobs works on the messages of the queue of jobs: erasures, verifications, and whatever else may outlast a call.
package main

import "github.com/rookeryhq/rookery/internal/awsapp"

func main() { awsapp.ServeJobs() }
