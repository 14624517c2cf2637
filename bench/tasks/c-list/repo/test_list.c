#include <assert.h>
#include <stddef.h>
#include "list.h"

int main(void)
{
    struct list list = {NULL, NULL, 0};
    list_append(&list, 7);
    list_append(&list, 8);
    assert(list_remove(&list, 7));
    assert(list.head && list.head->song == 8);
    assert(list.length == 1);
    list_clear(&list);
    return 0;
}
