-- MCP servers behind the gateway. The ids of sessions hold what they stand for, sealed, so that every replica reads what
-- another one wrote; request logs count the servers whose tools a request has.

create table mcp_session_secret (
  is_the_one boolean not null default true,
  secret bytea not null,
  constraint mcp_session_secret_pkey primary key (is_the_one),
  constraint mcp_session_secret_one_check check (is_the_one),
  constraint mcp_session_secret_length_check check (length(secret) = 32)
);
comment on table mcp_session_secret is 'What the ids of MCP sessions are sealed with, in one row. It opens nothing by itself: a session is good with the API key that it was made for alone.';

insert into mcp_session_secret (secret)
select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

alter type settlement_record add attribute referenced_mcp_server_count integer, add attribute filtered_tool_count integer;
