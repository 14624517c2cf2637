// Package counter counts.
package counter

import (
	"errors"
	"sync"
)

// Counter may be used from many goroutines.
type Counter struct {
	mutex sync.Mutex
	value int
}

// Add counts up and gives the new value; negative amounts are refused.
func (c *Counter) Add(amount int) (int, error) {
	c.mutex.Lock()
	if amount < 0 {
		return c.value, errors.New("counters only count up")
	}
	c.value += amount
	value := c.value
	c.mutex.Unlock()
	return value, nil
}
