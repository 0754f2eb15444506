-- As 0023 for rate limits: a summary is found by a digest, which is generated, and by a log id, which may be null, so its
-- key is an id of its own. The column is filled in each row; summaries wait meanwhile, and requests do not.
do $$
begin
  set local lock_timeout = '200ms';
  for tries in 1 .. 60 loop
    begin
      alter table request_mcp_token_overheads
        add column request_mcp_token_overhead_id uuid not null default gen_random_uuid(),
        add constraint request_mcp_token_overheads_pkey primary key (request_mcp_token_overhead_id);
      exit;
    exception when lock_not_available then
      if tries = 60 then
        raise;
      end if;
      perform pg_sleep(0.3);
    end;
  end loop;
end $$;
comment on column request_mcp_token_overheads.request_mcp_token_overhead_id is 'By which logical replication finds the row.';
