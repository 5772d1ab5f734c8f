package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// An erased is what erasing came to: of single notes with their histories, and then of the vault with all others.
type erased struct {
	Notes []time.Duration // of each note, in order
	Vault time.Duration
	Files int // of the vault
	Bytes int
}

// erasedNotes is how many notes are erased one by one.
const erasedNotes = 5

// P is how long a percentile of the notes took.
func (e *erased) P(percent int) time.Duration { return link{Waits: e.Notes}.P(percent) }

// erases erases some notes, and then the vault, until all that was there is destroyed.
func (s *suite) erases(ctx context.Context) error {
	progress("%d notes: erase", s.result.Notes)
	e := &erased{}
	s.result.Erased = e
	for _, id := range s.ids[:min(erasedNotes, len(s.ids))] {
		begun := time.Now()
		if err := s.client.tool(ctx, "raven_delete", in{"id": id, "erase": true, "force": true}); err != nil {
			return fmt.Errorf("erase a note: %w", err)
		}
		e.Notes = append(e.Notes, time.Since(begun))
	}
	slices.Sort(e.Notes)
	body, err := encode(in{"name": vaultName, "confirm": vaultName})
	if err != nil {
		return err
	}
	begun := time.Now()
	data, err := s.client.post(ctx, "team_vault_erase", body)
	e.Vault = time.Since(begun)
	if err != nil {
		return fmt.Errorf("erase the vault: %w", err)
	}
	var answer struct {
		Data struct {
			Receipt *struct {
				Files int
				Bytes int
			}
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.Data.Receipt == nil {
		return fmt.Errorf("the vault was not erased within the call, which took %v", e.Vault)
	}
	e.Files, e.Bytes = answer.Data.Receipt.Files, answer.Data.Receipt.Bytes
	return nil
}

// goals are those of erasing, if it was measured.
func (e *erased) goals() []goal {
	if e == nil {
		return nil
	}
	return []goal{
		{"a note is erased, p50", 1000, millis(e.P(50)), "ms", false},
		{"the vault is erased", 10, e.Vault.Seconds(), "s", false},
	}
}
