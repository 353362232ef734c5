-- uses: now, hash, window, circuit, pace, places, gate
-- A long request lives: its place, and its probe if it is one, are leased anew.
local living = renew_place(PLACES, ask.token)
if living then
  renew_probe(circuit.fields, ask.token)
  save_both()
end
return flag(living)
