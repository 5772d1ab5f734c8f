package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A hosting is the cost of authentication, rate limits and the audit of calls on a hosted server.
type hosting struct {
	cfg    config
	dir    string
	issuer *localcloud.Issuer

	Chain  []link
	Tokens tokened
	Sizes  []compared
}

// A tokened is the cost of a tenant with many API tokens.
type tokened struct {
	Count      int
	CreateFew  []time.Duration // the first ones, sorted
	CreateMany []time.Duration // the last ones, sorted
	Open       time.Duration   // from the open of the database until the first token was accepted
	List       link            // one page of 50
	Verify     link            // a call of an idle tool with one of the tokens
}

// CreateFewP and CreateManyP return percentiles.
func (t tokened) CreateFewP(percent int) time.Duration  { return percentile(t.CreateFew, percent) }
func (t tokened) CreateManyP(percent int) time.Duration { return percentile(t.CreateMany, percent) }

// A compared contains the loads on a vault of one size.
type compared struct {
	Notes int
	Loads []pair
}

// A pair is one load, measured alternately without and with middleware.
type pair struct {
	Name        string
	Clients     int
	Bare, Whole []sample // by round
}

// measureHosted measures a hosted server, and writes the page.
func measureHosted(ctx context.Context, cfg config) (err error) {
	p, dir, end, err := begin(cfg)
	if err != nil {
		return err
	}
	defer end()
	h := &hosting{cfg: cfg, dir: dir}
	if h.issuer, err = localcloud.NewIssuer(ctx, "127.0.0.1:0", hostURL); err != nil {
		return err
	}
	defer h.issuer.Close()
	if err := h.inProcess(ctx); err != nil {
		return err
	}
	for _, n := range cfg.sizes {
		c, err := h.compare(ctx, n)
		if err != nil {
			return fmt.Errorf("measure %d notes: %w", n, err)
		}
		h.Sizes = append(h.Sizes, c)
	}
	p.Hosted = h
	return p.write(cfg.out)
}

// tokenSample is the number of measured tokens, among the first and among the last.
const tokenSample = 200

// inProcess measures the middleware without a server: with one token, and among many.
func (h *hosting) inProcess(ctx context.Context) error {
	dir := filepath.Join(h.dir, "tenant")
	last, err := h.fill(ctx, dir)
	if err != nil {
		return err
	}
	progress("open a tenant of %d tokens", h.cfg.tokens)
	begun := time.Now()
	host, err := openHost(ctx, dir, h.issuer.URL, idleTools()...)
	if err != nil {
		return err
	}
	c := chain{host, ctx}
	err = c.invoke(last, "bench_look")
	h.Tokens.Open = time.Since(begun)
	if err == nil {
		h.Tokens.List, err = c.measure("a page of tokens", tokenSample, func(int) error {
			return c.listTokens()
		})
	}
	if err == nil {
		h.Tokens.Verify, err = c.warm(linkMany, func(int) error { return c.invoke(last, "bench_look") })
	}
	return errors.Join(err, host.Close())
}

// fill measures the middleware with one token, and then creates all others. It returns the last
// one.
func (h *hosting) fill(ctx context.Context, dir string) (last string, err error) {
	host, err := openHost(ctx, dir, h.issuer.URL, idleTools()...)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	c := chain{host, ctx}
	if last, err = c.createToken("the first"); err != nil {
		return "", err
	}
	progress("calls that do nothing")
	if h.Chain, err = c.links(h.issuer, last); err != nil {
		return "", err
	}
	progress("make %d tokens", h.cfg.tokens)
	h.Tokens.Count = h.cfg.tokens
	var waits []time.Duration
	for n := range h.cfg.tokens - 1 {
		begun := time.Now()
		if last, err = c.createToken(fmt.Sprintf("token %d", n)); err != nil {
			return "", err
		}
		waits = append(waits, time.Since(begun))
	}
	most := min(tokenSample, len(waits))
	h.Tokens.CreateFew = slices.Sorted(slices.Values(waits[:most]))
	h.Tokens.CreateMany = slices.Sorted(slices.Values(waits[len(waits)-most:]))
	return last, nil
}

// hostedClients is the number of concurrent clients. Each has its own token: one half from the
// issuer, the other half API tokens.
const hostedClients = 64

// compare measures the loads on a vault of one size.
func (h *hosting) compare(ctx context.Context, notes int) (out compared, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, fmt.Errorf("find this program: %w", err)
	}
	s := &suite{cfg: h.cfg, dir: h.dir, day: vault.DateOf(time.Now()), result: result{Notes: notes}}
	s.launch = func(data string) []string { return []string{self, hostCommand, data, h.issuer.URL} }
	s.generate()
	if _, err := s.up(ctx); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.down()) }()
	bare := func(h http.Header) { h.Set(bareHeader, "1") }
	s.client.header = bare
	progress("%d notes: bring them in", notes)
	if err := s.fill(ctx); err != nil {
		return out, err
	}
	tokens, err := h.bearers(ctx, s.client)
	if err != nil {
		return out, err
	}
	var next atomic.Int64
	whole := func(h http.Header) {
		h.Set(bareHeader, "0")
		h.Set("Authorization", "Bearer "+tokens[int(next.Add(1))%len(tokens)])
	}
	out = compared{Notes: notes}
	for _, l := range s.comparedLoads() {
		p, err := s.pair(ctx, l, bare, whole)
		if err != nil {
			return out, err
		}
		out.Loads = append(out.Loads, p)
	}
	return out, nil
}

// bearers returns the tokens of the clients.
func (h *hosting) bearers(ctx context.Context, c *client) ([]string, error) {
	var all []string
	for n := range hostedClients / 2 {
		jwt, err := h.issuer.Token(in{"sub": fmt.Sprintf("client-%d", n)})
		if err != nil {
			return nil, err
		}
		api, err := c.newToken(ctx, fmt.Sprintf("client %d", n))
		if err != nil {
			return nil, err
		}
		all = append(all, jwt, api)
	}
	return all, nil
}

// newToken creates an API token.
func (c *client) newToken(ctx context.Context, name string) (string, error) {
	args, err := encode(in{"name": name, "role": "editor"})
	if err != nil {
		return "", err
	}
	data, err := c.post(ctx, "team_token_create", args)
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return tokenIn(data)
}

// The names of the compared loads that the other pages do not have.
const (
	getMany = "get an object, of many"
	mixed   = "mixed: seven get an object, three set a field"
)

// readsMore is the factor by which a load that only reads has more operations.
const readsMore = 5

// comparedLoads returns the compared loads.
func (s *suite) comparedLoads() []load {
	notes := s.files[1:]
	id := func(i int) string { return s.ids[i*stride%len(s.ids)] }
	read := func(ctx context.Context, i int) error {
		return s.client.get(ctx, "files", notes[i*stride%len(notes)].Path)
	}
	get := func(ctx context.Context, i int) error { return s.client.get(ctx, "objects", id(i)) }
	var value atomic.Int64
	set := func(ctx context.Context, i int) error {
		return s.client.tool(ctx, "raven_set", in{"id": id(i), "set": in{"revision": value.Add(1)}})
	}
	either := func(ctx context.Context, i int) error {
		if i%10 < 7 {
			return get(ctx, i)
		}
		return set(ctx, i)
	}
	writes := s.cfg.ops
	reads := readsMore * writes // reads are shorter by about that factor
	return []load{
		{name: readNote, clients: 1, ops: reads, op: read},
		{name: getObject, clients: 1, ops: reads, op: get},
		{name: getMany, clients: hostedClients, ops: reads, op: get},
		{name: setField, clients: 1, ops: writes, op: set},
		{name: setField, clients: hostedClients, ops: writes, op: set},
		{name: mixed, clients: hostedClients, ops: writes, op: either},
	}
}

// pair measures a load alternately without and with middleware. The order alternates from round to
// round, and the first round is not counted.
func (s *suite) pair(ctx context.Context, l load, bare, whole func(http.Header)) (pair, error) {
	progress("%d notes: %s; clients: %d", s.result.Notes, l.name, l.clients)
	p := pair{Name: l.name, Clients: l.clients}
	l.limit = s.cfg.limit
	for round := range s.cfg.rounds + 1 {
		for turn := range 2 {
			header, list := bare, &p.Bare
			if (round+turn)%2 == 1 {
				header, list = whole, &p.Whole
			}
			s.client.header = header
			got, err := l.run(ctx)
			if err != nil {
				return p, err
			}
			if len(got.Refused) > 0 {
				return p, fmt.Errorf("%s: refused: %s", l.name, showRefused(got.Refused))
			}
			if round > 0 {
				*list = append(*list, got)
			}
		}
	}
	return p, nil
}

// BareRate and WholeRate return the successful operations per second without and with middleware:
// the median of the rounds.
func (p pair) BareRate() float64  { return median(p.Bare, sample.Rate) }
func (p pair) WholeRate() float64 { return median(p.Whole, sample.Rate) }

// BareP50 and WholeP50 return the p50 of an operation without and with middleware: the median of
// the rounds.
func (p pair) BareP50() time.Duration  { return time.Duration(median(p.Bare, waited50)) }
func (p pair) WholeP50() time.Duration { return time.Duration(median(p.Whole, waited50)) }

// waited50 returns the p50 of a sample in nanoseconds.
func waited50(s sample) float64 { return float64(s.P(50)) }

// Ratio returns the rate with middleware divided by the rate without it: the median of the rounds.
func (p pair) Ratio() float64 {
	ratios := make([]float64, len(p.Bare))
	for i := range ratios {
		ratios[i] = p.Whole[i].Rate() / p.Bare[i].Rate()
	}
	return middle(ratios)
}

// median returns the median of a property of the samples.
func median(list []sample, tell func(sample) float64) float64 {
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = tell(s)
	}
	return middle(values)
}

// middle returns the median of the values, and sorts them. Of an even number of values it is the
// mean of the two in the middle.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Beyond returns the additional time of a call over the same call without middleware, at a
// percentile. BeyondMean returns the additional mean time.
func (h *hosting) Beyond(l link, percent int) time.Duration {
	return l.P(percent) - h.Chain[0].P(percent)
}

func (h *hosting) BeyondMean(l link) time.Duration { return l.Mean - h.Chain[0].Mean }

// Goals returns the goals of the hosted server.
func (h *hosting) Goals() []goal {
	var all []goal
	for _, l := range h.Chain {
		if l.What == linkAPI || l.What == linkJWT {
			all = append(all, goal{
				What: "what stands in between, of a call with " + l.What + ", p50", Want: 50,
				Got: float64(h.Beyond(l, 50)) / float64(time.Microsecond), Unit: "µs",
			})
		}
	}
	for _, c := range h.Sizes {
		for _, p := range c.Loads {
			all = append(all, goal{
				What: fmt.Sprintf("%s, %s notes, clients: %d: the rate, of that with nothing in between",
					p.Name, showCount(c.Notes), p.Clients),
				Want: 90, Got: 100 * p.Ratio(), Unit: "%", MoreIsGood: true,
			})
		}
	}
	return all
}

// Commit returns the short hash of the measured commit, or "" if it is not known.
func (h *hosting) Commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
