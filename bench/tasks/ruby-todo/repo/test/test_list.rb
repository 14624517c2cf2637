require "todo"

list = Todo::List.new.add("paint").add("pay rent", "2024-05-01")
abort "got #{list.by_date}" unless list.by_date == ["pay rent", "paint"]
puts "ok"
