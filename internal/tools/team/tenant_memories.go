package team

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rookeryhq/rookery/internal/repo"
)

// memoriesFile is the name of the file with the memories of a vault, in the format of
// memory_export. It is split into parts at line ends, so each part can be imported alone, in order.
const memoriesFile = "memories.jsonl"

// memories adds a part of the memories of the current vault, at the version of its exported notes.
// It reports whether more parts follow. The position in the file is the number of lines of the
// earlier parts, which are skipped without being read again. A line that alone exceeds the limit is
// a part of its own.
func (e *tenantExporter) memories(ctx context.Context, v *repo.Vault) (more bool, err error) {
	if e.at.Version == 0 {
		return false, badPlace()
	}
	idx, err := v.At(ctx, e.at.Version)
	if err != nil {
		return false, err
	}
	var lines []byte
	for item, err := range v.MemoryLines(ctx, idx.Memories(), e.at.Lines) {
		if err != nil {
			return false, err
		}
		line, err := json.Marshal(item)
		if err != nil {
			return false, fmt.Errorf("write an item of %s: %w", memoriesFile, err)
		}
		if more = len(lines) > 0 && len(lines)+len(line) > maxExport; more {
			break
		}
		lines = append(append(lines, line...), '\n')
		e.at.Lines++
	}
	if len(lines) > 0 {
		e.at.Piece++
		e.add("vaults/"+e.at.Vault+"/"+memoriesFile, lines, e.at.Piece)
	}
	return more, nil
}

// remembers reports whether the current vault has memories, at the version of its exported notes.
// It reads at most one line.
func (e *tenantExporter) remembers(ctx context.Context, v *repo.Vault) (bool, error) {
	idx, err := v.At(ctx, e.at.Version)
	if err != nil {
		return false, err
	}
	for _, err := range v.MemoryLines(ctx, idx.Memories(), 0) {
		return true, err
	}
	return false, nil
}
