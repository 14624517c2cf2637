#include <assert.h>
#include <string.h>
#include "trim.h"

int main(void)
{
    char spaces[] = "  a b ";
    char line[] = "\tvalue\r\n";
    assert(strcmp(trim(spaces), "a b") == 0);
    assert(strcmp(trim(line), "value") == 0);
    return 0;
}
