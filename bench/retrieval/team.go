package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

// sessions is how many sessions the made-up team worked.
const sessions = 250

// What the team's sessions are made of. A question says a thing otherwise than the memory does.
var (
	people   = []string{"freya", "bjorn", "mei", "tomas", "aisha", "lena"}
	services = []string{"billing", "search", "ferry", "login", "export", "chart", "mail", "archive"}
	things   = []twice{
		{"cache", "cached entries"}, {"queue", "queued jobs"}, {"database index", "db indexes"},
		{"retry loop", "retries"}, {"upload handler", "uploads"}, {"timetable page", "timetables"},
		{"session token", "tokens of sessions"}, {"rate limiter", "rate limits"},
		{"backup job", "backups"}, {"log shipper", "shipping of logs"},
	}
	symptoms = []twice{
		{"returns stale values", "stale answers"}, {"times out at night", "timeouts during the night"},
		{"leaks memory", "memory leak"}, {"drops requests under load", "dropped requests"},
		{"fails on empty input", "failure with empty inputs"}, {"is slow after a deploy", "slowness after deploying"},
	}
	causes = []string{
		"the clock of one host was behind by a minute", "two workers wrote the same key",
		"a goroutine was never stopped", "the default buffer held a single entry",
		"nobody closed the response body", "the certificate chain had expired",
		"a migration had removed the constraint", "the proxy rewrote the header",
	}
	remedies = []string{
		"pinned the library to the version before", "raised the limit to sixty seconds",
		"added jitter between attempts",
		"moved the lock above the check", "wrote the result to a second file and renamed it",
		"compared digests in place of dates", "switched to a bounded channel", "made the field a required one",
	}
	decisions = []string{
		"keep one writer and many readers", "measure before any further change", "turn it off until the audit is over",
		"ask the vendor for a patch", "replace it in the next quarter", "document the limits and leave it",
	}
	kindsOfWork = []memory.TaskType{"bug_fix", "refactor", "investigation", "optimization"}
)

// A twice is a thing as a memory says it, and as a question does.
type twice struct{ said, asked string }

// A work is one session of the team.
type work struct {
	who, other string
	service    string
	thing      twice
	symptom    twice
	cause      string
	remedy     string
	decision   string
	day        time.Time
	number     int
}

// team is the set of the memories of a made-up team.
func team() *set {
	r := rand.New(rand.NewPCG(25, 0))
	t := &chronicle{r: r}
	used := map[string]bool{}
	for n := 0; n < sessions; {
		w := work{
			who: pick(r, people), other: pick(r, people), service: pick(r, services), thing: pick(r, things),
			symptom: pick(r, symptoms), cause: pick(r, causes), remedy: pick(r, remedies), decision: pick(r, decisions),
			day: time.Date(2026, time.Month(1+n%6), 1+r.IntN(27), 8+r.IntN(8), 0, 0, 0, time.UTC), number: n,
		}
		if key := w.service + w.thing.said + w.who; used[key] || w.who == w.other {
			continue
		}
		used[w.service+w.thing.said+w.who] = true
		t.tell(w)
		n++
	}
	return &set{
		name: "memories of a made-up team", things: len(t.changes), profile: search.Memories(),
		query:     search.PlainQuery,
		index:     func(p search.Profile) *search.Index { return search.New(p, "english").With(t.changes) },
		questions: t.questions,
	}
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// A chronicle collects what the team did, and what may be asked about it.
type chronicle struct {
	r         *rand.Rand
	changes   []search.Change
	questions []question
}

// tell tells of a session, step by step.
func (t *chronicle) tell(w work) {
	task := t.step(w, 0,
		fmt.Sprintf("find out why the %s of the %s service %s", w.thing.said, w.service, w.symptom.said), "")
	cause := t.step(w, 1, "found it: "+w.cause, "")
	t.step(w, 2, "asked "+w.other+" for a second opinion", "")
	remedy := t.step(w, 3, w.remedy+", and the alarm went silent", "")
	decision := t.step(w, 4, fmt.Sprintf("talked it over with the team of %s", w.service),
		fmt.Sprintf("we %s for the %s", w.decision, w.thing.said))
	t.step(w, 5, "wrote a test that fails without the change", "")
	subject := fmt.Sprintf("%s of the %s service", w.thing.said, w.service)
	t.ask("the task", fmt.Sprintf("%s in %s, %s %s", w.symptom.asked, w.service, w.thing.asked, "by "+w.who), task)
	t.ask("the next step",
		fmt.Sprintf("what was the cause when %s found that the %s %s", w.who, subject, w.symptom.said), cause)
	t.ask("a person's decision", fmt.Sprintf("What did %s's team decide about the %s?", w.who, subject), decision)
	t.ask("a month",
		fmt.Sprintf("%s of %s in %s", w.thing.asked, w.service, w.day.Format("January 2006")), task, decision)
	t.ask("what helped", fmt.Sprintf("alarm of the %s went silent after %s %s", subject, w.who, w.remedy), remedy)
}

// step adds a memory, and returns its id.
func (t *chronicle) step(w work, n int, goal, learnt string) string {
	id := fmt.Sprintf("mem_%03d-%d", w.number, n)
	at := w.day.Add(time.Duration(n*(5+t.r.IntN(20))) * time.Minute)
	m := &memory.Memory{
		Agent: "user:" + w.who + "@example.test", Session: fmt.Sprintf("session-%d", w.number), Created: at.UnixMilli(),
		Intent: memory.Intent{Goal: goal, TaskType: pick(t.r, kindsOfWork)},
		Outcome: memory.Outcome{Success: true,
			Summary: pick(t.r, []string{"done", "it went well", "took an hour", "see the log"})},
		Tags: []string{pick(t.r, []string{"backend", "operations", "urgent"})},
	}
	if learnt != "" {
		m.Outcome.Learnings = []string{learnt}
	}
	c := &memory.Card{
		ID: id, Birth: uint64(len(t.changes)), Agent: m.Agent, Session: m.Session, Created: m.Created,
		Goal: goal, TaskType: m.Intent.TaskType, Outcome: m.Outcome, Tags: m.Tags,
	}
	t.changes = append(t.changes, search.Change{Doc: id, Note: repo.SearchMemory(c, m)})
	return id
}

func (t *chronicle) ask(kind, text string, evidence ...string) {
	t.questions = append(t.questions, question{kind, text, evidence})
}
