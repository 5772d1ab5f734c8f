package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// An erased is the result of erasures: first of single notes with their histories, then of the
// vault with all others.
type erased struct {
	Notes []time.Duration // of each note, sorted
	Vault time.Duration
	Files int // of the vault
	Bytes int
}

// erasedNotes is the number of notes that are erased one by one.
const erasedNotes = 5

// P returns a percentile of the times of single notes.
func (e *erased) P(percent int) time.Duration { return link{Waits: e.Notes}.P(percent) }

// erases erases some notes and then the vault. Each erasure is timed until the data that existed is
// destroyed.
func (s *suite) erases(ctx context.Context) error {
	progress("%d notes: erase", s.result.Notes)
	e := &erased{}
	s.result.Erased = e
	for _, id := range s.ids[:min(erasedNotes, len(s.ids))] {
		begun := time.Now()
		_, err := s.client.erase(ctx, "raven_delete", in{"vault": vaultName, "id": id, "erase": true, "force": true})
		if err != nil {
			return fmt.Errorf("erase a note: %w", err)
		}
		e.Notes = append(e.Notes, time.Since(begun))
	}
	slices.Sort(e.Notes)
	begun := time.Now()
	done, err := s.client.erase(ctx, "team_vault_erase", in{"name": vaultName, "confirm": vaultName})
	if err != nil {
		return fmt.Errorf("erase the vault: %w", err)
	}
	e.Vault, e.Files, e.Bytes = time.Since(begun), done.Files, done.Bytes
	return nil
}

// An erasure is the receipt of a call that erases, or of its job.
type erasure struct{ Files, Bytes int }

// askAgain is the interval at which the client polls a job.
const askAgain = 50 * time.Millisecond

// erase makes a call that erases, and waits until its job has done what can be done now.
func (c *client) erase(ctx context.Context, tool string, args in) (erasure, error) {
	body, err := encode(args)
	if err != nil {
		return erasure{}, err
	}
	for {
		data, err := c.post(ctx, tool, body)
		if err != nil {
			return erasure{}, err
		}
		var answer struct {
			Data struct {
				Receipt erasure
				Job     struct {
					ID, State string
					Result    erasure
				}
			}
		}
		if err := json.Unmarshal(data, &answer); err != nil {
			return erasure{}, fmt.Errorf("read the answer: %w", err)
		}
		job := answer.Data.Job
		switch job.State {
		case "queued", "running":
		case "failed", "cancelled":
			return erasure{}, fmt.Errorf("the job that erases is %s", job.State)
		default:
			return erasure{max(answer.Data.Receipt.Files, job.Result.Files),
				max(answer.Data.Receipt.Bytes, job.Result.Bytes)}, nil
		}
		tool = "team_job_get"
		if body, err = encode(in{"id": job.ID}); err != nil {
			return erasure{}, err
		}
		select {
		case <-ctx.Done():
			return erasure{}, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// goals returns the goals of erasures, or nil if they were not measured.
func (e *erased) goals() []goal {
	if e == nil {
		return nil
	}
	return []goal{
		{"a note is erased, p50", 1000, millis(e.P(50)), "ms", false},
		{"the vault is erased", 10, e.Vault.Seconds(), "s", false},
	}
}
