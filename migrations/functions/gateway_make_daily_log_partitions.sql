-- For deployments that purge their logs: a purge then drops whole days instead of deleting their rows.
create or replace function gateway_make_daily_log_partitions(since timestamptz, until_time timestamptz) returns integer
language sql volatile as $$ select make_log_partitions_by(true, since, until_time) $$;
comment on function gateway_make_daily_log_partitions is 'Makes the partitions of the request logs ahead of time, one for each UTC day.';
