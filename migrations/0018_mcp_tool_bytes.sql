-- What is known exactly of the tools of MCP servers in a request, where nobody counts their tokens.

alter table request_mcp_token_overheads
  add column tool_definition_bytes bigint,
  add constraint request_mcp_token_overheads_bytes_check check (tool_definition_bytes >= 0);
comment on column request_mcp_token_overheads.tool_definition_bytes is 'Of the definitions in the request, as JSON without blanks, in UTF-8; null in rows from before it was stored.';
