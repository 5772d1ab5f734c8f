package localapp

import (
	"cmp"
	"math"
	"runtime/debug"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// memoryOf returns the bound of the memory of open vaults: the configured one, or half of the
// available memory. It returns nil, no bound, if the memory is unknown, and for a folder that is
// served, which is one vault.
func memoryOf(cfg Config) *tenant.Memory {
	if cfg.Folder != "" {
		return nil
	}
	return tenant.NewMemory(cmp.Or(int64(cfg.Server.Memory), available()/2))
}

// available returns the memory that the process may use, in bytes: the least of that of the
// machine, of its control group and GOMEMLIMIT. It returns 0 if it is unknown. The memory that
// other processes use is not subtracted.
func available() int64 {
	most := machineMemory()
	if soft := debug.SetMemoryLimit(-1); soft < math.MaxInt64 && (most == 0 || soft < most) {
		most = soft
	}
	return most
}

// limitsOf returns the limits of each vault. The index of a vault may be larger if only this
// machine can reach the server, because its users then share the memory with no other user.
func limitsOf(cfg Config) repo.Limits {
	things := repo.MaxThings
	if !cfg.Server.Local(false) {
		things = repo.MaxHostedThings
	}
	return repo.Limits{Things: cmp.Or(int(cfg.Server.Limits.VaultIndexed), things)}
}
