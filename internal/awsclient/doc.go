// Package awsclient has the parts of an AWS client that the adapters share: the HTTP client of the process, a clock
// that is corrected by the store's answers, which failures may be retried, and the check that no request is signed
// late.
package awsclient
