create or replace function settled_metadata(metadata jsonb, verdict text, blocked_cost_usd text) returns jsonb
language sql stable parallel safe as $$
  select case verdict
    when 'blocked' then metadata || jsonb_build_object('accounting',
      coalesce(metadata -> 'accounting', '{}') || jsonb_build_object('blocked_cost_usd', blocked_cost_usd))
    when 'duplicate' then metadata || jsonb_build_object('accounting',
      coalesce(metadata -> 'accounting', '{}') || '{"duplicate": true}')
    else metadata
  end
$$;
comment on function settled_metadata is 'The metadata of a summary row, which say what became of its request. A blocked cost stays on its row.';
