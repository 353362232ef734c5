local function permission_reply(hash, given)
  return { flag(given.allowed), exact(given.wait), given.generation, flag(given.probe), given.token, flag(hash.fresh) }
end
