-- For replicas of the previous release, whose batches are JSON. `gateway_keep_bodies` replaces it.
create or replace function gateway_keep_payloads(items json) returns bigint
language plpgsql volatile as $$
begin
  return (
    select gateway_keep_bodies(
      array_agg(request_log_id), array_agg(request_json), array_agg(response_json),
      array_agg(request_truncated), array_agg(response_truncated))
    from json_to_recordset(items) p(
      request_log_id uuid, request_json json, response_json json, request_truncated boolean, response_truncated boolean)
  );
end $$;
comment on function gateway_keep_payloads is 'Keeps the payloads of a batch of requests that are logged already.';
