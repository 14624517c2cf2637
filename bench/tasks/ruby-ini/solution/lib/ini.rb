module Ini
  # Sections by name; what stands before the first section belongs to the section "".
  def self.parse(text)
    sections = Hash.new { |all, name| all[name] = {} }
    section = ""
    text.each_line do |line|
      line = line.strip
      next if line.empty? || line.start_with?(";", "#")

      if line =~ /\A\[(.+)\]\z/
        section = $1
      else
        key, value = line.split("=", 2)
        sections[section][key.strip] = value.to_s.strip
      end
    end
    sections
  end
end
