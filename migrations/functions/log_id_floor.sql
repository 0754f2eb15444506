create or replace function log_id_floor(at timestamptz) returns uuid
language sql immutable parallel safe as $$
  select rpad(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;
comment on function log_id_floor is 'The lowest UUIDv7 of a time: where a partition begins that holds what came later.';
