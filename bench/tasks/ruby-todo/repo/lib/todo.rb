require_relative "todo/item"
require_relative "todo/list"
