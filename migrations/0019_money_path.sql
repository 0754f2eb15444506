-- What a settlement spends on its tables' own expressions. A table's generated columns and checks are made ready anew by
-- each statement that writes it, and there the text of a function in SQL is parsed each time.

-- In plpgsql, which keeps what it has parsed.
create or replace function request_digest(request_id text) returns bytea
language plpgsql immutable parallel safe as $$ begin return sha256(replace(request_id, '\', '\\')::bytea); end $$;
comment on function request_digest is 'SHA-256 of the id''s UTF-8 bytes: unique keys are made on it, so that the length of an id never fails an insert. The cast reads backslashes as escapes, hence the replacing; convert_to would not be immutable.';

-- Kept as it was parsed. Reports take it in, so that it costs them nothing for a row.
create or replace function counts_toward_spend(pricing_status text) returns boolean
language sql immutable parallel safe return pricing_status in ('priced', 'legacy_estimated');

create type budget_standing as (
  budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamptz,
  window_end timestamptz, spent numeric
);
comment on type budget_standing is 'A scope''s active budget as settlements judge by it; all null where there is none.';
