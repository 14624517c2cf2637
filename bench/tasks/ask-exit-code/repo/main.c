#include "count.h"

int main(int argc, char **argv)
{
    long lines;
    int outcome;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : stdin;
    if (!file) {
        perror(argv[1]);
        return 2;
    }
    outcome = count_lines(file, &lines);
    if (outcome == COUNT_OK)
        printf("%ld\n", lines);
    else
        fputs(outcome == COUNT_EMPTY ? "nothing to count\n" : "cannot read\n", stderr);
    return outcome;
}
