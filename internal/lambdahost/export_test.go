package lambdahost

import "time"

// SetTimeout sets how long the gateway waits for a function.
func (g *Gateway) SetTimeout(d time.Duration) { g.timeout = d }
