// Package ports reads lists of ports.
package ports

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// ParsePorts reads a list such as "80, 443".
func ParsePorts(text string) ([]int, error) {
	var list []int
	for _, part := range strings.Split(text, ",") {
		port, err := parsePort(part)
		if err != nil {
			return nil, err
		}
		list = append(list, port)
	}
	sort.Ints(list)
	return list, nil
}

func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf("%q is no port", text)
	}
	return port, nil
}
