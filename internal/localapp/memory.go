package localapp

import (
	"cmp"
	"math"
	"runtime/debug"

	"rookery/internal/repo"
	"rookery/internal/team"
)

// memoryOf bounds what open vaults hold: by what the server is told, else by half of the memory that the
// process may have. A folder that is served is one vault, and has no bound.
func memoryOf(cfg Config) *team.Memory {
	if cfg.Folder != "" {
		return nil
	}
	return team.NewMemory(cmp.Or(int64(cfg.Server.Memory), available()/2))
}

// available returns how many bytes of memory the process may have: those of the machine, of its control
// group, or of GOMEMLIMIT, whichever is least. 0: it is not known.
func available() int64 {
	most := machineMemory()
	if soft := debug.SetMemoryLimit(-1); soft < math.MaxInt64 && (most == 0 || soft < most) {
		most = soft
	}
	return most
}

// limitsOf are the limits of each vault. Where only this machine reaches the server, a vault may have more
// in the index.
func limitsOf(cfg Config) repo.Limits {
	things := repo.MaxThings
	if !cfg.Server.Local(false) {
		things = repo.MaxHostedThings
	}
	return repo.Limits{Things: cmp.Or(int(cfg.Server.Limits.VaultIndexed), things)}
}
