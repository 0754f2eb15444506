create or replace function counted_spend(scope text, from_time timestamptz, until_time timestamptz) returns numeric
language sql stable as $$
  select coalesce(sum(counted_picousd), 0) from usage_daily_totals
  where ownership_scope_key = scope
    and day >= (from_time at time zone 'UTC')::date and day < (until_time at time zone 'UTC')::date
$$;
comment on function counted_spend is 'Counted spend of a window in picodollars: a sum of at most 31 rows.';
