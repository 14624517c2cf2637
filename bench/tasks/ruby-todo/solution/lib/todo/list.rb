module Todo
  class List
    def initialize
      @items = []
    end

    def add(title, due = nil)
      @items << Item.new(title, due)
      self
    end

    # Titles, the earliest date first; those without a date last.
    def by_date
      ordered = @items.each_with_index.sort_by { |item, index| [item.due ? 0 : 1, item.due.to_s, index] }
      ordered.map { |item, _| item.title }
    end
  end
end
