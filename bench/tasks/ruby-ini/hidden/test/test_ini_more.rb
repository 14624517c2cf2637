require "ini"

def check(text, expect)
  found = Ini.parse(text)
  abort "#{text.inspect}: got #{found}" unless found == expect
end

check("", {})
check("\n  \n# only\n  ; indented\n", {})
check("a=1\n[x]\nb = 2 = 3\n", "" => { "a" => "1" }, "x" => { "b" => "2 = 3" })
check("[x]\nempty =\n", "x" => { "empty" => "" })
check("  [x]  \n key = v#1 \n", "x" => { "key" => "v#1" })
check("[x]\r\na = 1\r\n", "x" => { "a" => "1" })
puts "ok"
