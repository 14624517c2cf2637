#include <assert.h>
#include <stddef.h>
#include "list.h"

static void check(const struct list *list, int count, const int *songs)
{
    const struct node *node = list->head;
    const struct node *last = NULL;
    for (int i = 0; i < count; i++) {
        assert(node && node->song == songs[i]);
        last = node;
        node = node->next;
    }
    assert(node == NULL && list->tail == last && list->length == count);
}

int main(void)
{
    struct list list = {NULL, NULL, 0};
    assert(!list_remove(&list, 1));
    list_append(&list, 1);
    assert(list_remove(&list, 1));
    check(&list, 0, NULL);
    list_append(&list, 1);
    list_append(&list, 2);
    list_append(&list, 3);
    list_append(&list, 2);
    assert(list_remove(&list, 2));
    check(&list, 3, (int[]){1, 3, 2});
    assert(list_remove(&list, 2));
    list_append(&list, 9);
    check(&list, 3, (int[]){1, 3, 9});
    assert(!list_remove(&list, 5));
    assert(list_remove(&list, 1) && list_remove(&list, 9) && list_remove(&list, 3));
    check(&list, 0, NULL);
    list_append(&list, 4);
    check(&list, 1, (int[]){4});
    list_clear(&list);
    return 0;
}
