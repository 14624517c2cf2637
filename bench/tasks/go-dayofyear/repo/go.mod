module example.org/day

go 1.18
