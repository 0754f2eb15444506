create or replace function budget_window_end(cadence text, at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select (date_trunc(case cadence when 'daily' then 'day' when 'weekly' then 'week' else 'month' end,
                     at at time zone 'UTC')
          + case cadence when 'daily' then interval '1 day' when 'weekly' then interval '7 days'
                         else interval '1 month' end) at time zone 'UTC'
$$;
