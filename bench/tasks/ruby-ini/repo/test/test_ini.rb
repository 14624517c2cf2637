require "ini"

found = Ini.parse("; servers\n[db]\nurl = postgres://h/?a=1\nuser=me\n")
expect = { "db" => { "url" => "postgres://h/?a=1", "user" => "me" } }
abort "got #{found}" unless found == expect
puts "ok"
