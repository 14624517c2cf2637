use strict;
use warnings;
use Test::More tests => 1;
use AccessLog;

my @lines = (
    '1.2.3.4 - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 512',
    '1.2.3.4 - - [01/May/2024:10:00:01 +0000] "GET /logo.png HTTP/1.1" 304 -',
);
is_deeply(AccessLog::report(@lines), { requests => 2, bytes => 512, errors => 0 });
