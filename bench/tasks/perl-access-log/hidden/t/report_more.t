use strict;
use warnings;
use Test::More tests => 4;
use AccessLog;

sub line { my ($status, $size) = @_; return qq{h - - [x] "POST /a?b=c HTTP/1.1" $status $size "-" "agent"} }

is_deeply(AccessLog::report(), { requests => 0, bytes => 0, errors => 0 });
is_deeply(AccessLog::report(line(400, '-'), line(399, 1), line(500, 20)), { requests => 3, bytes => 21, errors => 2 });
is_deeply(AccessLog::report('rubbish', line(301, 7)), { requests => 1, bytes => 7, errors => 0 });
is_deeply(AccessLog::report(line(200, 0)), { requests => 1, bytes => 0, errors => 0 });
