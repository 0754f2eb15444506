create or replace function rollup_bucket(at timestamptz) returns timestamptz
language sql immutable parallel safe as $$ select date_bin('12 hours', at, timestamptz '2000-01-01 00:00:00+00') $$;
comment on function rollup_bucket is 'The 12-hour UTC bucket of an instant; two make a UTC day.';
