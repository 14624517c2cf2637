// Package ports reads lists of ports.
package ports

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// ParsePorts reads a list such as "80, 443, 8000-8003".
func ParsePorts(text string) ([]int, error) {
	seen := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		ends := strings.Split(part, "-")
		if len(ends) > 2 {
			return nil, fmt.Errorf("%q is no range", part)
		}
		first, err := parsePort(ends[0])
		if err != nil {
			return nil, err
		}
		last, err := parsePort(ends[len(ends)-1])
		if err != nil {
			return nil, err
		}
		if last < first {
			return nil, fmt.Errorf("%q runs backwards", part)
		}
		for port := first; port <= last; port++ {
			seen[port] = true
		}
	}
	var list []int
	for port := range seen {
		list = append(list, port)
	}
	sort.Ints(list)
	return list, nil
}

func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("%q is no port", text)
	}
	return port, nil
}
