// Retrieval measures how well searches find what is asked for: questions with evidence for the demo vault, for a vault
// in a folder, and for the memories of a made-up team. It prints a page in Markdown, whose numbers are the same in each
// run on the same vaults, but for those of the speed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rookeryhq/rookery/internal/search"
)

func main() {
	demo := flag.String("demo", "internal/localapp/demo", "the folder of the demo vault")
	vault := flag.String("vault", "",
		"the folder of a vault to which questions/vault.tsv belongs; empty: it is left out")
	out := flag.String("out", "", "the file to write; empty: standard output")
	fast := flag.Bool("speed", true, "measure also how long searches of 10,000 and 100,000 memories take")
	flag.Parse()
	if err := run(*demo, *vault, *out, *fast); err != nil {
		fmt.Fprintln(os.Stderr, "retrieval:", err)
		os.Exit(1)
	}
}

func run(demo, vault, out string, fast bool) error {
	sets, skipped, err := sets(demo, vault)
	if err != nil {
		return err
	}
	p := page{w: os.Stdout}
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			return err
		}
		defer f.Close()
		p.w = f
	}
	if err := p.write(sets, skipped); err != nil || !fast {
		return err
	}
	all, err := speeds(10_000, 100_000)
	if err != nil {
		return err
	}
	p.speed(all)
	return p.err
}

// A set is questions over one index.
type set struct {
	name      string
	things    int
	index     func(search.Profile) *search.Index
	profile   search.Profile
	query     func(string) search.Query
	exact     func(string) []string // what a question is the name of; nil: the index knows itself
	questions []question
}

// A question is a text, and the keys of the things that answer it.
type question struct {
	kind, text string
	evidence   []string
}

// sets are all sets, and why some are left out.
func sets(demo, vault string) (all []*set, skipped []string, err error) {
	notes, err := notesOf(demo, "demo vault", "demo")
	if err != nil {
		return nil, nil, err
	}
	all = append(all, notes)
	if vault == "" {
		skipped = append(skipped, "the questions of a vault in a folder: no -vault was given")
	} else {
		notes, err := notesOf(vault, "vault in a folder", "vault")
		if err != nil {
			return nil, nil, err
		}
		all = append(all, notes)
	}
	return append(all, team()), skipped, nil
}

// A page writes what was measured.
type page struct {
	w   io.Writer
	err error
}

func (p *page) say(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *page) write(sets []*set, skipped []string) error {
	p.say("# Retrieval\n\nThis page is written by " +
		"`go run ./bench/retrieval -vault FOLDER -out docs/benchmarks-retrieval.md`. " +
		"The questions are in `bench/retrieval`; the memories are those of a made-up team. R@k is the share of " +
		"questions with evidence among the first k results, MRR the mean of 1/rank. Calibration error is the " +
		"expected difference between the confidence in a result and how often it is right, over the first ten " +
		"results. Few pairs have such an error by chance, also if the confidence is exactly right: the 95th " +
		"percentile of a thousand draws is given beside it. In a typo, two letters next to each other of one " +
		"word of four or more are exchanged. A question about the next step repeats the text of the memory " +
		"before the one that answers it, which therefore is first: its R@1 is 0.\n")
	for _, why := range skipped {
		p.say("\nLeft out: %s.\n", why)
	}
	var ofNotes []pair
	for _, s := range sets {
		pairs := p.set(s)
		if s.exact != nil {
			ofNotes = append(ofNotes, pairs...)
		}
	}
	p.say("\n## Confidence in notes\n\nOf the %d judged pairs of all notes:\n", len(ofNotes))
	p.fit(ofNotes)
	return p.err
}

// fit writes how well the confidence fits one half of some pairs, and how well a fit to the other half would.
func (p *page) fit(pairs []pair) {
	fitted, held := halves(pairs)
	f := refit(fitted)
	p.say("\n- a fit to one half of the questions: %s\n- its calibration error on the other half: %.3f\n"+
		"- that of the confidence that is shown, on the other half: %.3f (by chance up to %.3f with %d pairs)\n",
		f, f.error(held), calibration(held, func(p *pair) float64 { return p.said }), byChance(held), len(held))
}

// set writes what was measured of a set, and returns its judged pairs.
func (p *page) set(s *set) []pair {
	p.say("\n## %s\n\n%d things, %d questions.\n\n", s.name, s.things, len(s.questions))
	p.say("| questions | number | R@1 | R@5 | R@10 | R@20 | MRR | calibration error |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	x := s.index(s.profile)
	all := s.measure(x, s.questions)
	p.row("all", all)
	for _, kind := range kinds(s.questions) {
		p.row(kind, s.measure(x, ofKind(s.questions, kind)))
	}
	typos := s.measure(x, withTypos(s.questions))
	p.row("all, with a typo", typos)
	p.say("\nLost by a typo: %.3f of R@10. ", all.recall(10)-typos.recall(10))
	p.say("Judged pairs: %d.\n", len(all.pairs))
	for _, part := range s.profile.Features() {
		m := s.measure(s.index(s.profile.Without(part)), s.questions)
		p.say("\n- without %s: R@1 %+.3f, R@10 %+.3f", part, m.recall(1)-all.recall(1), m.recall(10)-all.recall(10))
	}
	if s.profile.Features() != nil {
		p.say("\n")
	}
	p.say("\nConfidence:\n")
	p.fit(all.pairs)
	return all.pairs
}

func (p *page) row(name string, m measured) {
	p.say("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", name, len(m.ranks), m.recall(1), m.recall(5),
		m.recall(10), m.recall(20), m.mrr(), m.calibration())
}
