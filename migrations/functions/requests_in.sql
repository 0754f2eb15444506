-- The planner inlines it into a statement that calls it in its `from`.
create or replace function requests_in(scope text, from_time timestamptz, until_time timestamptz)
returns table (request_count numeric)
language sql stable as $$
  select coalesce(sum(u.request_count), 0) from usage_rollups u
  where u.ownership_scope_key = scope and u.bucket_start >= from_time and u.bucket_start < until_time
$$;
comment on function requests_in is 'Accounted requests of a scope in a window.';
