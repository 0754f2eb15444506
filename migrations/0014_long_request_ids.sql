-- A request id is as long as a header may be, and then does not fit into the URL of a list: its digest does.

create function long_request_id_sha256(request_id text) returns text
language sql immutable parallel safe as $$
  select case when octet_length(request_id) > 1024
    then encode(sha256(replace(request_id, '\', '\\')::bytea), 'hex') end
$$;
comment on function long_request_id_sha256 is 'SHA-256 in hex of an id of more than 1,024 bytes; null for others, which are looked for as they are and have no entry in the indexes. As request_digest says it, which an index cannot call by a name in here.';

create index request_logs_long_request_id_idx on request_logs (long_request_id_sha256(request_id), list_bucket)
  where long_request_id_sha256(request_id) is not null;
create index mcp_tool_invocations_long_request_id_idx
  on mcp_tool_invocations (long_request_id_sha256(request_id), list_bucket)
  where long_request_id_sha256(request_id) is not null;
