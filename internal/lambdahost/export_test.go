package lambdahost

import "time"

// SetPatience sets how long the gateway waits for a function.
func (g *Gateway) SetPatience(d time.Duration) { g.patience = d }
