module Todo
  # `due` is a text like 2024-05-01, or nil.
  Item = Struct.new(:title, :due)
end
