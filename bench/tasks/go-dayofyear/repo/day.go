// Package day counts days.
package day

var lengths = [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// DayOfYear counts from 1 for 1 January; 0 when there is no such day.
func DayOfYear(year, month, day int) int {
	if month < 1 || month > 12 || day < 1 || day > lengths[month-1] {
		return 0
	}
	count := day
	for _, length := range lengths[:month-1] {
		count += length
	}
	if month > 2 && IsLeap(year) {
		count++
	}
	return count
}
