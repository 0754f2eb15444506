-- Whose session it is, these texts mean the same: those of autovacuum, of a restore and of a person begin with the
-- server's `standard_conforming_strings`, and where it is off a backslash in plain quotes is none. Values stay as they are.
create or replace function request_digest(request_id text) returns bytea
language plpgsql immutable parallel safe as $$ begin return sha256(replace(request_id, E'\\', E'\\\\')::bytea); end $$;

create or replace function long_request_id_sha256(request_id text) returns text
language sql immutable parallel safe as $$
  select case when octet_length(request_id) > 1024
    then encode(sha256(replace(request_id, E'\\', E'\\\\')::bytea), 'hex') end
$$;
