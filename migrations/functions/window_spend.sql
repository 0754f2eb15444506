create or replace function window_spend(scope text, from_time timestamptz, until_time timestamptz)
returns table (picousd numeric)
language sql stable as $$
  select coalesce(sum(d.counted_picousd), 0) from usage_daily_totals d
  where d.ownership_scope_key = scope
    and d.day >= (from_time at time zone 'UTC')::date and d.day < (until_time at time zone 'UTC')::date
$$;
comment on function window_spend is 'Counted spend of a window in picodollars, as one row: a sum of at most 31. A statement that has it in its `from` takes it in.';
