require "todo"

def check(items, expect)
  list = Todo::List.new
  items.each { |title, due| list.add(title, due) }
  abort "#{items}: got #{list.by_date}" unless list.by_date == expect
  abort "the second call differs" unless list.by_date == expect
end

check([], [])
check([["a", nil], ["b", nil], ["c", nil]], %w[a b c])
check([["x", "2024-02-01"], ["n", nil], ["y", "2023-12-31"], ["m", nil]], %w[y x n m])
same = (1..30).map { |n| ["t#{n}", "2024-01-01"] }
check(same, same.map(&:first))
puts "ok"
