use strict;
use warnings;
use Test::More tests => 6;
use Ignore;

is_deeply([Ignore::keep(['file?.txt'], 'file1.txt', 'file.txt', 'file12.txt')], ['file.txt', 'file12.txt']);
is_deeply([Ignore::keep(['a+b'], 'a+b', 'aab')], ['aab']);
is_deeply([Ignore::keep(['(old)*'], '(old) notes', 'old notes')], ['old notes']);
is_deeply([Ignore::keep(['*'], 'x', '')], []);
is_deeply([Ignore::keep([], 'x')], ['x']);
is_deeply([Ignore::keep(['*.c', '*.h'], 'a.c', 'b.h', 'a.cc')], ['a.cc']);
