-- The same tables as the migrations make on the coordinator.
create or replace function gateway_make_node_tables() returns void
language plpgsql volatile as $$
begin
  create table if not exists gateway_processes (
    process_id uuid primary key,
    seen_at timestamptz not null,
    unbroken_since timestamptz not null
  );
  create unlogged table if not exists write_probes (filling text not null) with (autovacuum_enabled = false);
  alter table write_probes alter column filling set storage plain;
end $$;
comment on function gateway_make_node_tables is 'Makes the tables that every node has for itself.';
