create or replace function counted_spend(scope text, from_time timestamptz, until_time timestamptz) returns numeric
language sql stable as $$ select picousd from window_spend(scope, from_time, until_time) $$;
comment on function counted_spend is 'Counted spend of a window in picodollars.';
