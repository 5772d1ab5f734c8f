package awsapp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Outer returns Options with interceptors that see every call before it is checked.
func Outer(o Options, i ...tool.Interceptor) Options {
	o.outer = append(o.outer, i...)
	return o
}

// Catalogue returns the tools of an App.
func (a *App) Catalogue() *tool.Catalogue { return a.host.Catalogue }

// Serving replaces the handler of the App.
func (a *App) Serving(h http.Handler) { a.handler = func(bool) http.Handler { return h } }

// Waits reports whether all work that calls have left ends within a time.
func (a *App) Waits(most time.Duration) bool { return a.later.wait(most) }

// Later runs a function as work that no call waits for.
func (a *App) Later(do func()) { a.later.run(do) }

// Recorded returns the response of a handler.
func Recorded(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Jobs returns the jobs of a tenant.
func (a *App) Jobs(t testing.TB, tenant string) *job.Jobs {
	t.Helper()
	own, err := a.teams.Tenant(t.Context(), tenant)
	require.NoError(t, err)
	return own.Jobs()
}
