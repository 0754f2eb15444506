create or replace function budget_window_start(cadence text, at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select date_trunc(case cadence when 'daily' then 'day' when 'weekly' then 'week' else 'month' end,
                    at at time zone 'UTC') at time zone 'UTC'
$$;
comment on function budget_window_start is 'UTC: daily from 00:00:00, weekly from Monday, monthly from the first day.';
