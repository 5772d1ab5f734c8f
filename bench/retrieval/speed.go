package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/search"
)

const (
	memoryBytes = 1000 // of text in a memory
	sessionSize = 20   // memories in a thread
	askedWords  = 8    // of a query: they follow each other in a memory
	queries     = 200  // each is asked several times
	rounds      = 5
	opens       = 15
)

// A speed is how long searches of so many memories take, on this machine.
type speed struct {
	memories        int
	ranked, told    []time.Duration // ranking alone, and with why each of the first five was found
	opened          []time.Duration // the image
	imageBytes      int
	wantRank, wantP float64 // goals in ms for ranking and for opening; 0: none
}

// speeds measures vaults of some sizes.
func speeds(sizes ...int) ([]speed, error) {
	var all []speed
	for _, n := range sizes {
		s, err := measureSpeed(n)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// measureSpeed measures a vault of so many memories, each of which is a part of a generated note.
func measureSpeed(n int) (speed, error) {
	s := speed{memories: n, wantRank: .5, wantP: 5}
	if n > 10_000 {
		s.wantRank, s.wantP = 10, 0
	}
	x, asked := remembered(n)
	defer pin()()
	for range rounds {
		for _, q := range asked {
			for took, explains := range map[*[]time.Duration]bool{&s.ranked: false, &s.told: true} {
				began := clock()
				_, err := x.Search(search.PlainQuery(q), search.Options{Limit: 5, Explain: explains})
				if err != nil {
					return s, fmt.Errorf("search: %w", err)
				}
				*took = append(*took, clock()-began)
			}
		}
	}
	data := x.AppendImage(nil)
	s.imageBytes = len(data)
	for range opens {
		began := clock()
		if _, err := search.ReadImage(data); err != nil {
			return s, fmt.Errorf("open the image: %w", err)
		}
		s.opened = append(s.opened, clock()-began)
	}
	for _, list := range [][]time.Duration{s.ranked, s.told, s.opened} {
		slices.Sort(list)
	}
	return s, nil
}

// remembered is an index of so many memories, and queries.
func remembered(n int) (*search.Index, []string) {
	var changes []search.Change
	var asked []string
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for f := range corpus.Vault(1, n+n/8) {
		i := len(changes)
		if i == n {
			break
		}
		if path.Ext(f.Path) != ".md" {
			continue
		}
		text := strings.ToValidUTF8(f.Text[:min(len(f.Text), memoryBytes)], "")
		who := fmt.Sprint("agent", i%7)
		changes = append(changes, search.Change{Doc: fmt.Sprintf("mem_%06d", i), Note: &search.Note{
			Text: []byte(text), Memory: &search.MemoryFields{
				Author: who, Persons: []search.Person{{Name: who}}, Thread: fmt.Sprint("session", i/sessionSize),
				Date: began.Add(time.Duration(i) * time.Minute), Seq: uint64(i), //nolint:gosec // it is not negative
			},
		}})
		words := strings.Fields(text)
		if from := len(words) / 2; i%(max(n/queries, 1)) == 0 && from > askedWords {
			asked = append(asked, strings.Join(words[from:from+askedWords], " "))
		}
	}
	return search.New(search.Memories(), "english").WithAll(slices.Values(changes)), asked
}

// speed writes how long searches take.
func (p *page) speed(all []speed) {
	p.say("\n## Speed\n\nThis part differs from run to run. Memories of %d bytes, %d in a session, "+
		"are searched for %d words that follow each other in one of them. "+
		"Shown is the %s of the thread that searches.\n\n",
		memoryBytes, sessionSize, askedWords, clocked)
	p.say("| memories | what | promised, p50 | p50 | p99 |\n| ---: | --- | ---: | ---: | ---: |\n")
	for _, s := range all {
		p.took(s, "ranking", s.wantRank, s.ranked)
		p.took(s, "ranking, and why the first five were found", 0, s.told)
		p.took(s, fmt.Sprintf("opening the image of %.1f MB", float64(s.imageBytes)/1e6), s.wantP, s.opened)
	}
}

func (p *page) took(s speed, what string, want float64, list []time.Duration) {
	promised := ""
	if want > 0 {
		promised = fmt.Sprintf("≤ %g ms", want)
	}
	at := func(percent int) float64 {
		return float64(list[min(len(list)*percent/100, len(list)-1)].Microseconds()) / 1000
	}
	p.say("| %d | %s | %s | %.2f ms | %.2f ms |\n", s.memories, what, promised, at(50), at(99))
}
