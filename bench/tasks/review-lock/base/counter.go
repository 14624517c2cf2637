// Package counter counts.
package counter

import "sync"

// Counter may be used from many goroutines.
type Counter struct {
	mutex sync.Mutex
	value int
}

// Add counts up and gives the new value.
func (c *Counter) Add(amount int) int {
	c.mutex.Lock()
	c.value += amount
	value := c.value
	c.mutex.Unlock()
	return value
}
