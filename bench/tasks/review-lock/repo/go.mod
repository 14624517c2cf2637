module example.org/counter

go 1.18
