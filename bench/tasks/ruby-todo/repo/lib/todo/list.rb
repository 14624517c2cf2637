module Todo
  class List
    def initialize
      @items = []
    end

    def add(title, due = nil)
      @items << Item.new(title, due)
      self
    end

    # Titles, the earliest date first.
    def by_date
      @items.sort_by(&:due).map(&:title)
    end
  end
end
