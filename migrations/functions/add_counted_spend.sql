create or replace function add_counted_spend(scope text, on_day date, amount numeric) returns void
language sql volatile as $$
  insert into usage_daily_totals select scope, on_day, amount where amount > 0
  on conflict on constraint usage_daily_totals_pkey
  do update set counted_picousd = usage_daily_totals.counted_picousd + excluded.counted_picousd
$$;
comment on function add_counted_spend is 'Keeps a day''s total the sum of its rows; only under the scope''s lock.';
