-- uses: now, hash, window, circuit, pace, places, gate
-- The end of a request. It counts while its place is held, so that a report told twice counts once.
local held = leave_place(PLACES, ask.token)

if held and ask.kind ~= 'neutral' then
  record(circuit.fields, ask.given, ask.kind == 'ok', ask.block)
else
  cancel(circuit.fields, ask.given)
end

-- A wish for a pause is heard even when the place is lost, unless the domain was paused since.
local heard = held or pace.fields.epoch <= ask.epoch
if ask.kind == 'ok' then
  if held then succeeded(pace.fields) end
elseif heard and (ask.kind == 'rate_limited' or ask.retry_after) then
  penalise(pace.fields, ask.retry_after, ask.epoch)
end
save_both()
return { flag(held), flag(circuit.fresh) }
