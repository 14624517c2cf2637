use strict;
use warnings;
use Test::More tests => 1;
use Ignore;

is_deeply([Ignore::keep(['*.log'], 'a.log', 'catalog', 'mylog.txt')], ['catalog', 'mylog.txt']);
