-- A model test is a request with an owner and without an API key.
alter table usage_cost_events alter column api_key_id drop not null;
comment on column usage_cost_events.api_key_id is 'Null: no key came with the request; an admin tested a route of its model.';

-- What a budget of another amount would have blocked is read off a scope's counted rows in their order. Partial: the
-- duplicate check, which asks for the scope too, has no such condition, so no plan of it can begin here.
create index usage_cost_events_counted_idx on usage_cost_events (ownership_scope_key, occurred_at, request_log_id)
  include (cost_picousd) where counts_toward_spend(pricing_status);
