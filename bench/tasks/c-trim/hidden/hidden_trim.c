#include <assert.h>
#include <string.h>
#include "trim.h"

static void check(const char *text, const char *expect)
{
    char room[64];
    memset(room, '#', sizeof room);
    strcpy(room + 8, text);
    assert(strcmp(trim(room + 8), expect) == 0);
    for (int i = 0; i < 8; i++)
        assert(room[i] == '#');
}

int main(void)
{
    check("", "");
    check("x", "x");
    check("   ", "");
    check(" \t\r\n ", "");
    check("\n\na\tb\n\n", "a\tb");
    check("no blanks", "no blanks");
    check("\r\n#\r\n", "#");
    return 0;
}
