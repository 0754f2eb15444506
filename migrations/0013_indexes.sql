-- The dry run of a budget is asked now and then, settlement writes with every request: the dry run reads the days that
-- it needs, of all scopes, out of an index that costs a settlement nothing, in place of one that was written each time.
drop index usage_cost_events_counted_idx;
create index usage_cost_events_occurred_at_idx on usage_cost_events using brin (occurred_at)
  with (pages_per_range = 32, autosummarize = on);

-- As there is for the keys of teams and service accounts.
create index api_keys_users_idx on api_keys (created_at, api_key_id) where user_id is not null;
