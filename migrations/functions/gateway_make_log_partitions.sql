create or replace function gateway_make_log_partitions(since timestamptz, until_time timestamptz) returns integer
language sql volatile as $$ select make_log_partitions_by(false, since, until_time) $$;
comment on function gateway_make_log_partitions is 'Makes the partitions of the request logs ahead of time, one for each UTC month.';
