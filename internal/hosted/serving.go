package hosted

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/rookeryhq/rookery/docs/guide"
	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/forwarded"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/openapi"
	"github.com/rookeryhq/rookery/internal/tool"
	pages "github.com/rookeryhq/rookery/openapi"
)

// perCall is how many requests may be in flight for each call that may run at once. It includes
// requests without a token.
const perCall = 8

// first are the tools that /mcp lists first, in this order: those that an agent needs first
// (CONTRACT §6). Tools that the catalogue does not have are skipped.
var first = []string{
	"vault_overview", "notes_search", "notes_get", "notes_write", "raven_query", "raven_schema", "raven_object_get",
	"raven_set", "raven_add", "raven_edit", "raven_trait_update", "raven_history", "raven_undo",
	"memory_recall", "memory_store", "memory_check_file",
}

// A Serving contains the options of one handler of a Host. The zero value serves everything, and
// authenticates with the Gate.
type Serving struct {
	Version string   // of the program
	Hosts   []string // names of the server; see httptool.Options

	// Server is the configuration of this handler: its limits, origins, proxies and public URL.
	Server config.Config

	// Authenticate authenticates a request. Nil: Gate.Caller.
	Authenticate func(*http.Request) (auth.Caller, error)

	// Peer refuses a request that others could read or change on its way. If it is set, every call
	// needs a token: Options.Closed or Authenticate must be set too. Nil: the proxies of Server and
	// loopback are trusted; see forwarded.Proxies.
	Peer func(*http.Request) *fault.Fault

	// Only are the families whose routes are served; nothing else is then. Nil: everything is
	// served.
	Only []*tool.Family

	// Decoded says that a gateway decodes the paths of requests; see httptool.Options.
	Decoded bool

	// Ready returns an error while no calls can be served. Nil: calls can always be served.
	Ready func(context.Context) error

	// Waited is called when a call begins to run, with the number of other calls that began while
	// it waited, in addition to Meter.Waited. Nil: not called.
	Waited func(tenant string, passed int)
}

// waited returns the Waited function for the shares of a handler: it calls the Meter and s.Waited.
func (h *Host) waited(s Serving) func(tenant string, passed int) {
	return func(tenant string, passed int) {
		if h.opt.Meter != nil {
			h.opt.Meter.Waited(tenant, passed)
		}
		if s.Waited != nil {
			s.Waited(tenant, passed)
		}
	}
}

// Handler returns the HTTP handler of the server. It panics if s.Peer is set but neither
// s.Authenticate nor Options.Closed: such a server would trust requests from other machines without
// a token.
func (h *Host) Handler(s Serving) http.Handler {
	if s.Peer != nil && s.Authenticate == nil && !h.opt.Closed {
		panic("hosted: a server that takes requests from other machines must be closed")
	}
	if s.Authenticate == nil {
		s.Authenticate = h.Gate.Caller
	}
	if s.Peer == nil {
		s.Peer = s.Server.Proxies().Check
	}
	calls := cmp.Or(s.Server.MaxCalls, config.DefaultCalls)
	share := access.ShareOptions{Calls: calls, Waited: h.waited(s)}
	o := httptool.Options{
		Hosts: s.Hosts, Origins: s.Server.CORSOrigins, Peer: s.Peer, Only: s.Only, Decoded: s.Decoded,
		Authenticate: s.Authenticate, Count: h.Limiter.Visit,
		Requests: forwarded.NewAddressLimiter(perCall*calls, s.Server.Proxies()),
		Resource: resource(s.Server), Ready: s.Ready, Log: h.opt.Log, Audited: true, Version: s.Version,
		Document: func() ([]byte, error) {
			return openapi.Document(h.Catalogue.Tools(), openapi.Info{Version: s.Version})
		},
		Docs: pages.Docs(), Meter: h.opt.Meter, Shares: access.NewShares(share),
	}
	// A handler for some families does not serve MCP.
	if s.Only == nil {
		o.Mount = map[string]http.Handler{mcptool.Path: mcptool.New(h.Catalogue, h.mcp(s, o))}
	}
	return httptool.New(h.Catalogue, o)
}

// mcp returns the options of the MCP endpoint beside routes.
func (h *Host) mcp(s Serving, routes httptool.Options) mcptool.Options {
	return mcptool.Options{
		First: first, Version: s.Version, Instructions: instructions, Log: h.opt.Log,
		Documents: documents(), Authenticate: s.Authenticate, Shares: routes.Shares, Count: h.Limiter.Visit,
		Resource: routes.Resource, Meter: h.opt.Meter,
	}
}

// resource returns the OAuth resource of a server with this configuration.
func resource(c config.Config) access.Resource {
	r := access.Resource{PublicURL: c.PublicURL}
	for _, i := range c.Issuers {
		if !slices.Contains(r.Issuers, i.Issuer) {
			r.Issuers = append(r.Issuers, i.Issuer)
		}
	}
	return r
}

// documents returns the pages of the guide as MCP resources.
func documents() []mcptool.Document {
	var all []mcptool.Document
	for _, p := range guide.Pages() {
		all = append(all, mcptool.Document{
			URI: "rookery://guide/" + p.Name, Name: p.Name, Title: p.Title, Doc: p.Summary,
			MIME: "text/markdown", Text: p.Text,
		})
	}
	return all
}
