-- The schema as it is after all migrations, for readers: nothing runs this file. Made by `npm run schema:dump`, and
-- held to the migrations by test/infrastructure/schema-dump.test.ts. Functions are in `functions/`, or, where
-- tables stand on them, in the numbered files.

create type budget_standing as (
  budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamp with time zone, window_end timestamp with time zone, spent numeric
);
-- budget_standing: A scope's active budget as settlements judge by it; all null where there is none.

create type settlement_record as (
  ord integer, request_log_id uuid, request_id text, scope text, api_key_id uuid, user_id uuid, team_id text, service_account_id text, model_key text, provider_key text, prompt_tokens bigint, completion_tokens bigint, total_tokens bigint,
  charged boolean, upstream_model text, pricing_status text, unpriced_reason text, input_picousd_per_token numeric, output_picousd_per_token numeric, pricing_source text, cost_picousd numeric, logged boolean, resolved_model_key text,
  status_code integer, error_code text, latency_ms integer, caller_service text, caller_component text, caller_env text, exposed_tool_count integer, invoked_tool_count integer, user_agent_raw text, agent_harness_key text,
  agent_harness_label text, metadata_json jsonb, blocked_cost_usd text, tags jsonb, attempts jsonb, limited_tokens bigint, first_token_ms integer, referenced_mcp_server_count integer, filtered_tool_count integer
);
-- settlement_record: What a request leaves behind, as `gateway_settle` reads it. It grows by attributes at its end, which older releases leave out.

create table admin_events (
  admin_event_id uuid not null default gen_random_uuid(), occurred_at timestamp with time zone not null default gateway_now(), actor_user_id uuid, action text not null, target_kind text not null, target_id text not null, before_json json,
  after_json json, remote_address text, admin_token_id uuid, constraint admin_events_pkey PRIMARY KEY (admin_event_id)
);
-- admin_events: One change that a platform admin made, written in the transaction of the change itself. Append-only, and no purge touches it. Ids are no foreign keys: an event outlives whom it names.
-- actor_user_id: The admin who was logged in; null: the gateway's command line.
-- target_id: The id of the user, team or API key that was changed, or whose budget was.
-- before_json: What the change replaced; null: there was nothing.
-- after_json: What there is since; null: nothing.
-- remote_address: Where the call came from; null: the gateway's command line.
-- admin_token_id: The token that the call was made with; null: a session, or the command line.
CREATE INDEX admin_events_actor_idx ON admin_events USING btree (actor_user_id, occurred_at, admin_event_id);
CREATE INDEX admin_events_occurred_at_idx ON admin_events USING btree (occurred_at, admin_event_id);
CREATE INDEX admin_events_target_idx ON admin_events USING btree (target_id, occurred_at, admin_event_id);
CREATE TRIGGER admin_events_append_only_trigger BEFORE DELETE OR UPDATE OR TRUNCATE ON admin_events FOR EACH STATEMENT EXECUTE FUNCTION admin_events_refuse_change();

create table admin_sessions (
  token_sha256 bytea not null, user_id uuid not null, created_at timestamp with time zone not null, last_seen_at timestamp with time zone not null, expires_at timestamp with time zone not null,
  signed_in_by text not null default 'password'::text, constraint admin_sessions_pkey PRIMARY KEY (token_sha256), constraint admin_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id),
  constraint admin_sessions_order_check CHECK (((created_at <= last_seen_at) AND (last_seen_at < expires_at))), constraint admin_sessions_signed_in_by_check CHECK ((signed_in_by = ANY (ARRAY['password'::text, 'oidc'::text]))),
  constraint admin_sessions_token_check CHECK ((octet_length(token_sha256) = 32))
);
-- admin_sessions: A login that has not ended; the token itself is never stored. To delete the row is to revoke the session.
-- last_seen_at: Written at most once a minute.
-- signed_in_by: Where a way of signing in is turned off, its sessions are over.
CREATE INDEX admin_sessions_expires_at_idx ON admin_sessions USING btree (expires_at);
CREATE INDEX admin_sessions_user_id_idx ON admin_sessions USING btree (user_id, created_at);

create table admin_tokens (
  admin_token_id uuid not null default gen_random_uuid(), public_id text not null, secret_sha256 bytea not null, user_id uuid not null, name text not null, scope text not null, created_at timestamp with time zone not null,
  expires_at timestamp with time zone, last_used_on date, revoked_at timestamp with time zone, constraint admin_tokens_pkey PRIMARY KEY (admin_token_id), constraint admin_tokens_public_id_key UNIQUE (public_id),
  constraint admin_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id), constraint admin_tokens_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text]))),
  constraint admin_tokens_secret_check CHECK ((octet_length(secret_sha256) = 32))
);
-- admin_tokens: A credential of the admin API for scripts; it acts for the person who made it, and its secret is never stored.
-- scope: read: calls that change nothing; write: these and all others.
-- expires_at: From then on it is refused; null: never.
-- last_used_on: UTC day of the last call, written once a day.
CREATE INDEX admin_tokens_created_at_idx ON admin_tokens USING btree (created_at, admin_token_id);
CREATE INDEX admin_tokens_user_id_idx ON admin_tokens USING btree (user_id);

create table api_keys (
  api_key_id uuid not null default gen_random_uuid(), public_id text not null, secret_sha256 bytea not null, name text not null, user_id uuid, team_id text, service_account_id text, allowed_models text[] not null default '{}'::text[],
  from_config boolean not null default false, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(), revoked_at timestamp with time zone, revoked_by text,
  expires_at timestamp with time zone, last_used_on date, created_by_user_id uuid, version integer not null default 1, previous_secret_sha256 bytea, previous_expires_at timestamp with time zone,
  name_folded text not null generated always as (lower("left"(name, 128))) stored, constraint api_keys_pkey PRIMARY KEY (api_key_id), constraint api_keys_public_id_key UNIQUE (public_id),
  constraint api_keys_created_by_user_id_fkey FOREIGN KEY (created_by_user_id) REFERENCES users(user_id), constraint api_keys_service_account_id_fkey FOREIGN KEY (service_account_id) REFERENCES service_accounts(service_account_id),
  constraint api_keys_team_id_fkey FOREIGN KEY (team_id) REFERENCES teams(team_id), constraint api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id),
  constraint api_keys_one_owner_check CHECK ((num_nonnulls(user_id, team_id, service_account_id) = 1)),
  constraint api_keys_previous_secret_check CHECK ((((previous_secret_sha256 IS NULL) = (previous_expires_at IS NULL)) AND (octet_length(previous_secret_sha256) = 32))),
  constraint api_keys_revoked_by_check CHECK ((((revoked_at IS NULL) = (revoked_by IS NULL)) AND (revoked_by = ANY (ARRAY['admin'::text, 'config'::text])))), constraint api_keys_secret_sha256_check CHECK ((octet_length(secret_sha256) = 32))
);
-- api_keys: A credential of the public API; the secret itself is never stored.
-- allowed_models: Model ids that the key may use; empty means every model.
-- revoked_by: admin: for good; config: gone from the file, and back when it is in it again.
-- expires_at: From then on the key is refused, on every replica; null: never.
-- last_used_on: UTC day of the last settled request, written some seconds after it, once a day.
-- created_by_user_id: The admin who made it over the API; null: the command line or the file.
-- version: Raised by each change: a change names the version that it is made to.
-- previous_secret_sha256: The secret that a rotation replaced: valid until `previous_expires_at`.
-- name_folded: What the name is looked for in: in the index of the list, so that no row is read for it.
CREATE INDEX api_keys_created_at_idx ON api_keys USING btree (created_at, api_key_id) INCLUDE (name_folded);
CREATE INDEX api_keys_expiring_idx ON api_keys USING btree (created_at, api_key_id) WHERE (expires_at IS NOT NULL);
CREATE INDEX api_keys_revoked_idx ON api_keys USING btree (created_at, api_key_id) WHERE (revoked_at IS NOT NULL);
CREATE INDEX api_keys_service_account_id_idx ON api_keys USING btree (service_account_id, created_at, api_key_id) WHERE (service_account_id IS NOT NULL);
CREATE INDEX api_keys_service_accounts_idx ON api_keys USING btree (created_at, api_key_id) WHERE (service_account_id IS NOT NULL);
CREATE INDEX api_keys_team_id_idx ON api_keys USING btree (team_id, created_at, api_key_id) WHERE (team_id IS NOT NULL);
CREATE INDEX api_keys_teams_idx ON api_keys USING btree (created_at, api_key_id) WHERE (team_id IS NOT NULL);
CREATE INDEX api_keys_user_id_idx ON api_keys USING btree (user_id, created_at, api_key_id) WHERE (user_id IS NOT NULL);
CREATE INDEX api_keys_users_idx ON api_keys USING btree (created_at, api_key_id) WHERE (user_id IS NOT NULL);

create table blocked_answers (
  request_log_id uuid not null, ownership_scope_key text not null, cost_picousd numeric(38,0) not null, occurred_at timestamp with time zone not null, constraint blocked_answers_pkey PRIMARY KEY (request_log_id, ownership_scope_key)
);
-- blocked_answers: An answer whose cost a hard budget blocked: it is in no ledger row and counts nowhere else. Outside of the purge.
CREATE INDEX blocked_answers_scope_idx ON blocked_answers USING btree (ownership_scope_key, occurred_at) INCLUDE (cost_picousd);

create table budget_alert_deliveries (
  delivery_id uuid not null default gen_random_uuid(), ownership_scope_key text not null, budget_alert_id uuid not null, channel text not null default 'email'::text, recipient text, delivery_status text not null, failure_reason text,
  created_at timestamp with time zone not null, attempted_at timestamp with time zone, sent_at timestamp with time zone, failure_told boolean not null default false,
  constraint budget_alert_deliveries_pkey PRIMARY KEY (delivery_id, ownership_scope_key),
  constraint budget_alert_deliveries_alert_fkey FOREIGN KEY (budget_alert_id, ownership_scope_key) REFERENCES budget_alerts(budget_alert_id, ownership_scope_key),
  constraint budget_alert_deliveries_reason_check CHECK (((delivery_status = 'failed'::text) = (failure_reason IS NOT NULL))),
  constraint budget_alert_deliveries_status_check CHECK ((delivery_status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'failed'::text])))
);
-- budget_alert_deliveries: One alert for one recipient, tried once: pending, sending, then sent or failed.
-- failure_told: A replica has logged and counted that this mail failed: each is told of once.
CREATE INDEX budget_alert_deliveries_alert_idx ON budget_alert_deliveries USING btree (budget_alert_id);
CREATE INDEX budget_alert_deliveries_open_idx ON budget_alert_deliveries USING btree (created_at) WHERE (delivery_status = ANY (ARRAY['pending'::text, 'sending'::text]));
CREATE INDEX budget_alert_deliveries_untold_idx ON budget_alert_deliveries USING btree (created_at) WHERE ((delivery_status = 'failed'::text) AND (NOT failure_told));

create table budget_alerts (
  budget_alert_id uuid not null default gen_random_uuid(), ownership_scope_key text not null, budget_id uuid not null, user_id uuid, team_id text, cadence text not null, amount_10000 bigint not null, threshold_bps integer not null,
  window_start timestamp with time zone not null, window_end timestamp with time zone not null, spend_before_picousd numeric(38,0) not null, spend_after_picousd numeric(38,0) not null, created_at timestamp with time zone not null,
  constraint budget_alerts_pkey PRIMARY KEY (budget_alert_id, ownership_scope_key), constraint budget_alerts_once_key UNIQUE (budget_id, threshold_bps, window_start, ownership_scope_key),
  constraint budget_alerts_one_owner_check CHECK ((num_nonnulls(user_id, team_id) = 1))
);
-- budget_alerts: A budget came down to its threshold: at most one for each budget, threshold and window.
CREATE INDEX budget_alerts_created_at_idx ON budget_alerts USING btree (created_at DESC, budget_alert_id DESC);

create table budget_window_closures (
  budget_id uuid not null, window_start timestamp with time zone not null, closed_at timestamp with time zone not null, ownership_scope_key text not null,
  constraint budget_window_closures_pkey PRIMARY KEY (budget_id, window_start, ownership_scope_key)
);
-- budget_window_closures: accounting.after_block = close_window: a blocked cost has shut this window of this budget.

create table gateway_processes (
  process_id uuid not null, seen_at timestamp with time zone not null, unbroken_since timestamp with time zone not null, constraint gateway_processes_pkey PRIMARY KEY (process_id)
);
-- gateway_processes: A process that serves, seen once a second. By the system's clock: what it says is whether somebody is there, not when something happened.
-- unbroken_since: From when on it has been seen without a gap: only who was there itself can say that another was not.

create table gateway_state (
  singleton boolean not null default true, revision bigint not null default 0, constraint gateway_state_pkey PRIMARY KEY (singleton), constraint gateway_state_singleton_check CHECK (singleton)
);
-- gateway_state: One row; its revision grows with each change of identity or catalogue: whoever makes one calls `gateway_touch`.

create table harness_rollups (
  bucket_start timestamp with time zone not null, agent_harness_key text not null, writer integer not null, ownership_scope_key text not null, agent_harness_label text not null, request_count bigint not null,
  constraint harness_rollups_pkey PRIMARY KEY (bucket_start, agent_harness_key, ownership_scope_key, writer)
);
-- harness_rollups: Request-log rows of one harness, scope and 12-hour bucket. Writer 0 counts under the lock of the scope, any other is a database session that counts for itself, so that none waits for another.

create table log_tables (
  log_table text not null, storage text not null, constraint log_tables_pkey PRIMARY KEY (log_table)
);
-- log_tables: A table that is cut by `request_log_id`, and the storage parameters of its partitions.

create table login_attempts (
  account_sha256 bytea not null, address text not null, attempts integer not null, first_at timestamp with time zone not null, constraint login_attempts_pkey PRIMARY KEY (account_sha256, address),
  constraint login_attempts_account_check CHECK ((octet_length(account_sha256) = 32)), constraint login_attempts_attempts_check CHECK ((attempts > 0))
);
-- login_attempts: Logins tried for one account from one address since `first_at`, all of them failed or under way.
-- account_sha256: Of the e-mail as typed, in lower case: people type passwords there too, and the account need not exist.
CREATE INDEX login_attempts_first_at_idx ON login_attempts USING btree (first_at);

create table mcp_session_secret (
  is_the_one boolean not null default true, secret bytea not null, constraint mcp_session_secret_pkey PRIMARY KEY (is_the_one), constraint mcp_session_secret_length_check CHECK ((length(secret) = 32)),
  constraint mcp_session_secret_one_check CHECK (is_the_one)
);
-- mcp_session_secret: What the ids of MCP sessions are sealed with, in one row. It opens nothing by itself: a session is good with the API key that it was made for alone.

create table mcp_tool_invocations (
  mcp_tool_invocation_id uuid not null, request_id text not null, request_log_id uuid, api_key_id uuid, user_id uuid, team_id text, owner_kind text, server_id text not null, server_display_name text, tool_id text not null,
  tool_display_name text, status text not null, policy_result text not null, latency_ms integer not null, error_code text, arguments_json json, result_json json, arguments_truncated boolean not null, result_truncated boolean not null,
  occurred_at timestamp with time zone not null, list_bucket timestamp with time zone not null generated always as (date_bin('00:15:00'::interval, occurred_at, '2000-01-01 00:00:00+00'::timestamp with time zone)) stored,
  constraint mcp_tool_invocations_pkey PRIMARY KEY (mcp_tool_invocation_id), constraint mcp_tool_invocations_latency_check CHECK ((latency_ms >= 0)), constraint mcp_tool_invocations_owner_check CHECK (((COALESCE(owner_kind, 'none'::text) =
CASE
    WHEN (user_id IS NOT NULL) THEN 'user'::text
    WHEN (team_id IS NOT NULL) THEN 'team'::text
    ELSE 'none'::text
END) AND (num_nonnulls(user_id, team_id) <= 1))), constraint mcp_tool_invocations_policy_result_check CHECK ((policy_result = ANY (ARRAY['allowed'::text, 'denied'::text, 'not_evaluated'::text]))),
  constraint mcp_tool_invocations_status_check CHECK ((status = ANY (ARRAY['success'::text, 'unauthorized'::text, 'policy_denied'::text, 'upstream_error'::text, 'gateway_error'::text, 'timeout'::text, 'invalid_request'::text])))
);
-- mcp_tool_invocations: One call of one tool of an MCP server, with what was asked and answered, redacted. `request_log_id` is no foreign key: a purge leaves the row alone.
-- owner_kind: user or team, as budgets have it; null when nobody was authenticated.
-- list_bucket: The quarter of an hour of `occurred_at`; as in `request_logs`.
CREATE INDEX mcp_tool_invocations_api_key_id_idx ON mcp_tool_invocations USING btree (api_key_id, list_bucket, status, policy_result) WHERE (api_key_id IS NOT NULL);
CREATE INDEX mcp_tool_invocations_long_request_id_idx ON mcp_tool_invocations USING btree (long_request_id_sha256(request_id), list_bucket) WHERE (long_request_id_sha256(request_id) IS NOT NULL);
CREATE INDEX mcp_tool_invocations_occurred_at_idx ON mcp_tool_invocations USING btree (occurred_at, mcp_tool_invocation_id);
CREATE INDEX mcp_tool_invocations_policy_result_idx ON mcp_tool_invocations USING btree (policy_result, list_bucket) WHERE (policy_result <> 'allowed'::text);
CREATE INDEX mcp_tool_invocations_request_id_idx ON mcp_tool_invocations USING btree (hashtextextended(request_id, (0)::bigint), list_bucket);
CREATE INDEX mcp_tool_invocations_request_log_id_idx ON mcp_tool_invocations USING btree (request_log_id, list_bucket) WHERE (request_log_id IS NOT NULL);
CREATE INDEX mcp_tool_invocations_server_id_idx ON mcp_tool_invocations USING btree (server_id, list_bucket, status, policy_result);
CREATE INDEX mcp_tool_invocations_status_idx ON mcp_tool_invocations USING btree (status, list_bucket) WHERE (status <> 'success'::text);
CREATE INDEX mcp_tool_invocations_team_id_idx ON mcp_tool_invocations USING btree (team_id, list_bucket, status, policy_result) WHERE (team_id IS NOT NULL);
CREATE INDEX mcp_tool_invocations_tool_id_idx ON mcp_tool_invocations USING btree (tool_id, list_bucket, status, policy_result);
CREATE INDEX mcp_tool_invocations_user_id_idx ON mcp_tool_invocations USING btree (user_id, list_bucket, status, policy_result) WHERE (user_id IS NOT NULL);

create table model_routes (
  model_key text not null, "position" integer not null, provider_key text not null, upstream_model text not null, priority integer not null, enabled boolean not null default true, compatibility_json jsonb not null default '{}'::jsonb,
  config_json jsonb not null, updated_at timestamp with time zone not null default now(), constraint model_routes_pkey PRIMARY KEY (model_key, "position"),
  constraint model_routes_model_key_fkey FOREIGN KEY (model_key) REFERENCES models(model_key), constraint model_routes_provider_key_fkey FOREIGN KEY (provider_key) REFERENCES providers(provider_key)
);
-- model_routes: One way to serve a model; `position` is its place in the file.
-- config_json: The whole route as configured, placeholders unresolved.

create table models (
  model_key text not null, enabled boolean not null default true, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(), constraint models_pkey PRIMARY KEY (model_key)
);
-- models: A model id that callers may name.

create table oidc_sign_ins (
  state_sha256 bytea not null, browser_sha256 bytea not null, return_to text not null, address text not null, begun_at timestamp with time zone not null, constraint oidc_sign_ins_pkey PRIMARY KEY (state_sha256),
  constraint oidc_sign_ins_digests_check CHECK (((octet_length(state_sha256) = 32) AND (octet_length(browser_sha256) = 32)))
);
-- oidc_sign_ins: A browser that was sent to the identity provider and has not come back; to take its sign-in up is to delete the row.
-- browser_sha256: Of the cookie of that browser, which the nonce and the PKCE verifier are made of: neither is stored.
-- address: As sign-ins are counted by.
CREATE INDEX oidc_sign_ins_address_idx ON oidc_sign_ins USING btree (address, begun_at);
CREATE INDEX oidc_sign_ins_begun_at_idx ON oidc_sign_ins USING btree (begun_at);

create table providers (
  provider_key text not null, kind text not null, config_json jsonb not null, enabled boolean not null default true, updated_at timestamp with time zone not null default now(), constraint providers_pkey PRIMARY KEY (provider_key)
);
-- providers: An upstream as configured, placeholders unresolved. What kinds there are the codec of the configuration says.

create table rate_limit_holds (
  subject text not null, request_log_id uuid not null, process_id uuid not null, expires_at timestamp with time zone not null, constraint rate_limit_holds_pkey PRIMARY KEY (request_log_id, subject)
);
-- rate_limit_holds: A request in flight that is limited by its subject: gone when it ends, with its process, or when it expires. Its tokens are counted by whoever takes it away, and so once.
CREATE INDEX rate_limit_holds_subject_idx ON rate_limit_holds USING btree (subject);

create table rate_limit_windows (
  subject text not null, window_start timestamp with time zone not null default '-infinity'::timestamp with time zone, requests bigint not null default 0, tokens numeric(38,0) not null default 0,
  constraint rate_limit_windows_pkey PRIMARY KEY (subject)
);
-- rate_limit_windows: What a limited subject has taken of the minute that begins at `window_start`; its lock is the one under which its requests are judged. Made with its limit, and never deleted.

create table rate_limits (
  subject_kind text not null, subject_id text not null, subject text not null generated always as (((subject_kind || ':'::text) || subject_id)) stored, requests_per_minute bigint, tokens_per_minute bigint, requests_in_flight bigint,
  from_config boolean not null default false, version integer not null default 1, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(),
  constraint rate_limits_pkey PRIMARY KEY (subject),
  constraint rate_limits_range_check CHECK ((((requests_per_minute >= 1) AND (requests_per_minute <= '9007199254740991'::bigint)) AND ((tokens_per_minute >= 1) AND (tokens_per_minute <= '9007199254740991'::bigint)) AND ((requests_in_flight >= 1) AND (requests_in_flight <= '9007199254740991'::bigint)))),
  constraint rate_limits_some_check CHECK ((num_nonnulls(requests_per_minute, tokens_per_minute, requests_in_flight) > 0)),
  constraint rate_limits_subject_kind_check CHECK ((subject_kind = ANY (ARRAY['api_key'::text, 'user'::text, 'team'::text, 'model'::text])))
);
-- rate_limits: What one key, owner or model may do: in a minute, and at once. One that is `from_config` is in the file, and goes when its block goes from there. Its ids are no foreign keys, for they are of several tables.
-- subject: As windows and holds name it.
CREATE UNIQUE INDEX rate_limits_subject_kind_id_idx ON rate_limits USING btree (subject_kind, subject_id);

create table request_claims (
  request_id_sha256 bytea not null, ownership_scope_key text not null, request_log_id uuid not null, expires_at timestamp with time zone not null, process_id uuid,
  constraint request_claims_pkey PRIMARY KEY (request_id_sha256, ownership_scope_key)
);
-- request_claims: accounting.duplicate_request_ids = reject: a request in flight; gone when it ends or expires.
-- process_id: Whose request it is; without one a claim ends with its request or when it expires.
CREATE INDEX request_claims_request_log_id_idx ON request_claims USING btree (request_log_id);

create table request_log_attempts (
  request_log_id uuid not null, ownership_scope_key text not null, attempt_number integer not null, provider_key text not null, upstream_model text not null, status text not null, status_code integer, error_code text, error_detail text,
  stream boolean not null, started_at timestamp with time zone not null, completed_at timestamp with time zone not null, latency_ms integer not null,
  constraint request_log_attempts_pkey PRIMARY KEY (request_log_id, ownership_scope_key, attempt_number),
  constraint request_log_attempts_status_check CHECK ((status = ANY (ARRAY['success'::text, 'provider_error'::text, 'stream_start_error'::text, 'stream_error'::text])))
) partition by RANGE (request_log_id);
-- request_log_attempts: One upstream provider execution; a request that failed before the provider has none.
create table request_log_attempts_default partition of request_log_attempts DEFAULT with (autovacuum_vacuum_scale_factor=0.1);

create table request_log_payloads (
  request_log_id uuid not null, ownership_scope_key text not null, request_json json, response_json json, constraint request_log_payloads_pkey PRIMARY KEY (request_log_id, ownership_scope_key)
) partition by RANGE (request_log_id);
-- request_log_payloads: Sanitized request and response bodies, as they were printed: every digit and the order of keys stay. PostgreSQL compresses what is over 2 KB.
create table request_log_payloads_default partition of request_log_payloads DEFAULT with (autovacuum_vacuum_scale_factor=0.1);

create table request_log_tags (
  request_log_id uuid not null, ownership_scope_key text not null, tag_key text not null, tag_value text not null, list_bucket timestamp with time zone not null, status_code integer not null, model_key text,
  constraint request_log_tags_pkey PRIMARY KEY (request_log_id, ownership_scope_key, tag_key)
) partition by RANGE (request_log_id);
-- request_log_tags: A bespoke caller tag of one request; at most five.
-- list_bucket: As in the tag's request log, and so are `status_code` and `model_key`: a tag goes with what it is looked for together with.
CREATE INDEX request_log_tags_pair_idx ON request_log_tags USING btree (tag_key, tag_value, list_bucket, status_code, model_key);
create table request_log_tags_default partition of request_log_tags DEFAULT with (autovacuum_vacuum_insert_threshold=20000, autovacuum_vacuum_insert_scale_factor=0.01, autovacuum_vacuum_threshold=20000, autovacuum_vacuum_scale_factor=0.02);

create table request_logs (
  request_log_id uuid not null, ownership_scope_key text not null, request_id text not null, api_key_id uuid, user_id uuid, team_id text, service_account_id text, model_key text, resolved_model_key text, provider_key text,
  status_code integer not null, error_code text, latency_ms integer not null, prompt_tokens bigint, completion_tokens bigint, total_tokens bigint, has_payload boolean not null default false,
  request_payload_truncated boolean not null default false, response_payload_truncated boolean not null default false, caller_service text, caller_component text, caller_env text, exposed_tool_count integer, invoked_tool_count integer,
  referenced_mcp_server_count integer, filtered_tool_count integer, user_agent_raw text, agent_harness_key text, agent_harness_label text, metadata_json jsonb not null, occurred_at timestamp with time zone not null,
  list_bucket timestamp with time zone not null generated always as (date_bin('00:15:00'::interval, occurred_at, '2000-01-01 00:00:00+00'::timestamp with time zone)) stored, first_token_ms integer,
  constraint request_logs_pkey PRIMARY KEY (request_log_id, ownership_scope_key)
) partition by RANGE (request_log_id);
-- request_logs: Hot summary row, one per logged request. `request_id` is the caller's and not unique.
-- list_bucket: The quarter of an hour of `occurred_at`.
-- first_token_ms: Milliseconds from the request's arrival to the first content of a stream that went to its caller; null where none did, and in rows from before it was stored.
CREATE INDEX request_logs_agent_harness_key_idx ON request_logs USING btree (agent_harness_key, list_bucket, status_code, model_key) WHERE (agent_harness_key IS NOT NULL);
CREATE INDEX request_logs_api_key_id_idx ON request_logs USING btree (api_key_id, list_bucket, status_code) WHERE (api_key_id IS NOT NULL);
CREATE INDEX request_logs_caller_component_idx ON request_logs USING btree (caller_component, list_bucket, status_code, caller_env, caller_service, team_id) WHERE (caller_component IS NOT NULL);
CREATE INDEX request_logs_caller_env_idx ON request_logs USING btree (caller_env, list_bucket, status_code, model_key) WHERE (caller_env IS NOT NULL);
CREATE INDEX request_logs_caller_service_idx ON request_logs USING btree (caller_service, list_bucket, status_code, caller_env, team_id, model_key) WHERE (caller_service IS NOT NULL);
CREATE INDEX request_logs_failed_idx ON request_logs USING btree (list_bucket, status_code, model_key, provider_key) WHERE (((status_code >= 400) AND (status_code <> 499)) IS TRUE);
CREATE INDEX request_logs_long_request_id_idx ON request_logs USING btree (long_request_id_sha256(request_id), list_bucket) WHERE (long_request_id_sha256(request_id) IS NOT NULL);
CREATE INDEX request_logs_model_key_idx ON request_logs USING btree (model_key, list_bucket, status_code) WHERE (model_key IS NOT NULL);
CREATE INDEX request_logs_occurred_at_idx ON request_logs USING btree (occurred_at, request_log_id) INCLUDE (status_code);
CREATE INDEX request_logs_provider_key_idx ON request_logs USING btree (provider_key, list_bucket, status_code, model_key, caller_env) WHERE (provider_key IS NOT NULL);
CREATE INDEX request_logs_request_id_idx ON request_logs USING btree (hashtextextended(request_id, (0)::bigint), list_bucket);
CREATE INDEX request_logs_service_account_id_idx ON request_logs USING btree (service_account_id, list_bucket, status_code, caller_env) WHERE (service_account_id IS NOT NULL);
CREATE INDEX request_logs_status_code_idx ON request_logs USING btree (status_code, list_bucket) WHERE (status_code <> 200);
CREATE INDEX request_logs_team_id_idx ON request_logs USING btree (team_id, list_bucket, status_code, caller_env, model_key) WHERE (team_id IS NOT NULL);
CREATE INDEX request_logs_user_id_idx ON request_logs USING btree (user_id, list_bucket, status_code, model_key) WHERE (user_id IS NOT NULL);
create table request_logs_default partition of request_logs DEFAULT with (autovacuum_vacuum_insert_threshold=20000, autovacuum_vacuum_insert_scale_factor=0.01, autovacuum_vacuum_threshold=20000, autovacuum_vacuum_scale_factor=0.02, fillfactor=50);

create table request_mcp_token_overheads (
  request_id text not null, request_id_sha256 bytea not null generated always as (request_digest(request_id)) stored, request_log_id uuid, server_count integer not null, tool_count integer not null, tool_definition_tokens bigint,
  tool_result_tokens bigint, occurred_at timestamp with time zone not null, tool_definition_bytes bigint, request_mcp_token_overhead_id uuid not null default gen_random_uuid(),
  constraint request_mcp_token_overheads_pkey PRIMARY KEY (request_mcp_token_overhead_id), constraint request_mcp_token_overheads_request_key UNIQUE NULLS NOT DISTINCT (request_id_sha256, request_log_id),
  constraint request_mcp_token_overheads_bytes_check CHECK ((tool_definition_bytes >= 0)),
  constraint request_mcp_token_overheads_counts_check CHECK (((server_count >= 0) AND (tool_count >= 0) AND (tool_definition_tokens >= 0) AND (tool_result_tokens >= 0)))
);
-- request_mcp_token_overheads: What the MCP tools of one request took of its context window: pressure, not spend. `request_log_id` is no foreign key: a purge leaves the row alone.
-- tool_definition_tokens: As counted by who reported them; null where nobody did.
-- tool_definition_bytes: Of the definitions in the request, as JSON without blanks, in UTF-8; null in rows from before it was stored.
-- request_mcp_token_overhead_id: By which logical replication finds the row.
CREATE INDEX request_mcp_token_overheads_request_log_id_idx ON request_mcp_token_overheads USING btree (request_log_id) WHERE (request_log_id IS NOT NULL);

create table service_accounts (
  service_account_id text not null, name text not null, team_id text not null, active boolean not null default true, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(),
  from_config boolean not null default false, version integer not null default 1, constraint service_accounts_pkey PRIMARY KEY (service_account_id), constraint service_accounts_team_id_fkey FOREIGN KEY (team_id) REFERENCES teams(team_id)
);
-- service_accounts: A non-human caller; its spend belongs to its team.
-- from_config: The configuration file has it, and wins when it is applied the next time.
-- version: Raised by each change: a change names the version that it is made to.
CREATE INDEX service_accounts_created_at_idx ON service_accounts USING btree (created_at, service_account_id);
CREATE INDEX service_accounts_inactive_idx ON service_accounts USING btree (created_at, service_account_id) WHERE (NOT active);
CREATE INDEX service_accounts_team_id_idx ON service_accounts USING btree (team_id, created_at, service_account_id);

create table team_budgets (
  budget_id uuid not null default gen_random_uuid(), team_id text not null, cadence text not null, amount_10000 bigint not null, hard_limit boolean not null, timezone text not null default 'UTC'::text, active boolean not null default true,
  from_config boolean not null default false, created_at timestamp with time zone not null default gateway_now(), deactivated_at timestamp with time zone, set_by text, set_by_user_id uuid, deactivated_by text, deactivated_by_user_id uuid,
  constraint team_budgets_pkey PRIMARY KEY (budget_id), constraint team_budgets_amount_check CHECK (((amount_10000 >= 0) AND (amount_10000 <= '9007199254740991'::bigint))),
  constraint team_budgets_by_whom_check CHECK (((set_by = ANY (ARRAY['admin'::text, 'config'::text])) AND (deactivated_by = ANY (ARRAY['admin'::text, 'config'::text])))),
  constraint team_budgets_cadence_check CHECK ((cadence = ANY (ARRAY['daily'::text, 'weekly'::text, 'monthly'::text]))), constraint team_budgets_history_check CHECK ((active = (deactivated_at IS NULL)))
);
-- team_budgets: A team's budget: one active row, the others are history. One that is `from_config` is in the file, and goes when its block goes from there.
CREATE INDEX team_budgets_history_idx ON team_budgets USING btree (team_id, created_at, budget_id);
CREATE UNIQUE INDEX team_budgets_one_active_key ON team_budgets USING btree (team_id) WHERE active;

create table team_memberships (
  team_id text not null, user_id uuid not null, role text not null default 'member'::text, from_config boolean not null default false, created_at timestamp with time zone not null default now(),
  constraint team_memberships_pkey PRIMARY KEY (team_id, user_id), constraint team_memberships_team_id_fkey FOREIGN KEY (team_id) REFERENCES teams(team_id),
  constraint team_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id), constraint team_memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);
-- team_memberships: A user's place in a team; owners and admins get the team's budget alerts.
CREATE INDEX team_memberships_user_id_idx ON team_memberships USING btree (user_id);

create table teams (
  team_id text not null, name text not null, active boolean not null default true, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(),
  from_config boolean not null default false, version integer not null default 1, constraint teams_pkey PRIMARY KEY (team_id)
);
-- teams: A group that owns keys and spend of its own.
-- from_config: The configuration file has it, and wins when it is applied the next time.
-- version: Raised by each change: a change names the version that it is made to.
CREATE INDEX teams_created_at_idx ON teams USING btree (created_at, team_id);
CREATE INDEX teams_inactive_idx ON teams USING btree (created_at, team_id) WHERE (NOT active);

create table tool_cardinality_rollups (
  user_id uuid not null, bucket_start timestamp with time zone not null, writer integer not null, ownership_scope_key text not null, referenced_mcp_server_sum bigint not null, referenced_mcp_server_rows bigint not null,
  exposed_tool_sum bigint not null, exposed_tool_rows bigint not null, invoked_tool_sum bigint not null, invoked_tool_rows bigint not null, filtered_tool_sum bigint not null, filtered_tool_rows bigint not null,
  constraint tool_cardinality_rollups_pkey PRIMARY KEY (user_id, bucket_start, ownership_scope_key, writer)
);
-- tool_cardinality_rollups: Tool counts of a user's request-log rows in a 12-hour bucket; rows where a dimension was not recorded are not in its count. Writers are as in `harness_rollups`.

create table usage_cost_events (
  request_log_id uuid not null, request_id text not null, request_id_sha256 bytea not null generated always as (request_digest(request_id)) stored, ownership_scope_key text not null, api_key_id uuid, user_id uuid, team_id text,
  service_account_id text, model_key text not null, provider_key text not null, upstream_model text not null, prompt_tokens bigint, completion_tokens bigint, total_tokens bigint, pricing_status text not null, unpriced_reason text,
  input_picousd_per_token numeric(38,0), output_picousd_per_token numeric(38,0), pricing_source text, cost_picousd numeric(38,0), occurred_at timestamp with time zone not null,
  constraint usage_cost_events_pkey PRIMARY KEY (request_log_id, ownership_scope_key), constraint usage_cost_events_request_scope_key UNIQUE (request_id_sha256, ownership_scope_key),
  constraint usage_cost_events_counted_check CHECK (((NOT counts_toward_spend(pricing_status)) OR ((num_nulls(cost_picousd, prompt_tokens, completion_tokens, total_tokens) = 0) AND (cost_picousd >= (0)::numeric) AND (prompt_tokens >= 0) AND (completion_tokens >= 0) AND (total_tokens >= 0)))),
  constraint usage_cost_events_pricing_status_check CHECK ((pricing_status = ANY (ARRAY['priced'::text, 'legacy_estimated'::text, 'unpriced'::text, 'usage_missing'::text])))
);
-- usage_cost_events: One accounted request of one owner: its tokens, the prices used, and the exact cost. Never updated.
-- api_key_id: Null: no key came with the request; an admin tested a route of its model.
CREATE INDEX usage_cost_events_occurred_at_idx ON usage_cost_events USING brin (occurred_at) WITH (pages_per_range='32', autosummarize='on');

create table usage_daily_totals (
  ownership_scope_key text not null, day date not null, counted_picousd numeric(38,0) not null default 0, constraint usage_daily_totals_pkey PRIMARY KEY (ownership_scope_key, day)
);
-- usage_daily_totals: Counted spend of one scope and UTC day; always the sum of its ledger rows.

create table usage_rollups (
  bucket_start timestamp with time zone not null, ownership_scope_key text not null, model_key text not null, pricing_status text not null, user_id uuid, team_id text, request_count bigint not null, counted_picousd numeric(38,0) not null,
  constraint usage_rollups_pkey PRIMARY KEY (bucket_start, ownership_scope_key, model_key, pricing_status)
);
-- usage_rollups: Ledger rows of one scope, model, status and 12-hour bucket, counted and summed; always equal to its rows.

create table user_budgets (
  budget_id uuid not null default gen_random_uuid(), user_id uuid not null, cadence text not null, amount_10000 bigint not null, hard_limit boolean not null, timezone text not null default 'UTC'::text, active boolean not null default true,
  from_config boolean not null default false, created_at timestamp with time zone not null default gateway_now(), deactivated_at timestamp with time zone, set_by text, set_by_user_id uuid, deactivated_by text, deactivated_by_user_id uuid,
  constraint user_budgets_pkey PRIMARY KEY (budget_id), constraint user_budgets_amount_check CHECK (((amount_10000 >= 0) AND (amount_10000 <= '9007199254740991'::bigint))),
  constraint user_budgets_by_whom_check CHECK (((set_by = ANY (ARRAY['admin'::text, 'config'::text])) AND (deactivated_by = ANY (ARRAY['admin'::text, 'config'::text])))),
  constraint user_budgets_cadence_check CHECK ((cadence = ANY (ARRAY['daily'::text, 'weekly'::text, 'monthly'::text]))), constraint user_budgets_history_check CHECK ((active = (deactivated_at IS NULL)))
);
-- user_budgets: A user's budget: one active row, the others are history. One that is `from_config` is in the file, and goes when its block goes from there.
CREATE INDEX user_budgets_history_idx ON user_budgets USING btree (user_id, created_at, budget_id);
CREATE UNIQUE INDEX user_budgets_one_active_key ON user_budgets USING btree (user_id) WHERE active;

create table user_passwords (
  user_id uuid not null, password_hash text not null, set_at timestamp with time zone not null, constraint user_passwords_pkey PRIMARY KEY (user_id), constraint user_passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id),
  constraint user_passwords_hash_check CHECK ((password_hash ~~ '$argon2id$%'::text))
);
-- user_passwords: The password of a person who may log in, as an argon2id hash in PHC format.

create table user_recovery_codes (
  user_id uuid not null, code_sha256 bytea not null, constraint user_recovery_codes_pkey PRIMARY KEY (user_id, code_sha256),
  constraint user_recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES user_second_factors(user_id) ON DELETE CASCADE, constraint user_recovery_codes_code_check CHECK ((octet_length(code_sha256) = 32))
);
-- user_recovery_codes: A code that stands for the authenticator once; to use it is to delete the row.

create table user_second_factors (
  user_id uuid not null, sealed_secret bytea not null, begun_at timestamp with time zone not null, confirmed_at timestamp with time zone, last_used_step bigint, constraint user_second_factors_pkey PRIMARY KEY (user_id),
  constraint user_second_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id), constraint user_second_factors_step_check CHECK (((confirmed_at IS NULL) = (last_used_step IS NULL)))
);
-- user_second_factors: The authenticator (TOTP) of a person who logs in by password.
-- sealed_secret: Encrypted with a key that only the person's password makes.
-- confirmed_at: Null: begun, and no code was shown yet; logins do not ask for it.
-- last_used_step: Of the last code that was taken: none is taken twice, and no earlier one after it.

create table users (
  user_id uuid not null default gen_random_uuid(), email text not null, email_folded text not null generated always as (lower(email)) stored, name text not null, role text not null default 'user'::text,
  request_logging_enabled boolean not null default true, active boolean not null default true, created_at timestamp with time zone not null default now(), updated_at timestamp with time zone not null default now(),
  from_config boolean not null default false, version integer not null default 1, name_folded text not null generated always as (lower("left"(name, 128))) stored, constraint users_pkey PRIMARY KEY (user_id),
  constraint users_email_folded_key UNIQUE (email_folded), constraint users_role_check CHECK ((role = ANY (ARRAY['user'::text, 'platform_admin'::text])))
);
-- users: A person: owns keys and spend, may be a platform admin.
-- from_config: The configuration file has it, and wins when it is applied the next time.
-- version: Raised by each change: a change names the version that it is made to.
-- name_folded: What the name is looked for in: in the index of the list, so that no row is read for it.
CREATE INDEX users_admins_idx ON users USING btree (created_at, user_id) WHERE (role = 'platform_admin'::text);
CREATE INDEX users_created_at_idx ON users USING btree (created_at, user_id) INCLUDE (name_folded, email_folded);
CREATE INDEX users_inactive_idx ON users USING btree (created_at, user_id) WHERE (NOT active);

create unlogged table write_probes (
  filling text not null
);
-- write_probes: What probes wrote and took back: no row of it is ever seen.

-- function active_budget(owner_user uuid, owner_team text) returns TABLE(budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean)
-- function admin_events_refuse_change() returns trigger
--   What happened stays told: rows are neither changed nor deleted.
-- function blocked_in(scope text, from_time timestamp with time zone, until_time timestamp with time zone) returns TABLE(answers bigint)
--   How many answers of a window were blocked.
-- function blocked_spend(scope text, from_time timestamp with time zone, until_time timestamp with time zone, OUT answers bigint, OUT cost_picousd numeric) returns record
--   How many answers of a window were blocked, and what they cost in picodollars.
-- function budget_admission(scope text, budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamp with time zone, window_end timestamp with time zone, spent numeric, closed boolean) returns json
--   What an admission tells of a budget.
-- function budget_alert_due(amount_10000 bigint, spent numeric) returns boolean
--   What remains of the amount is at or below the threshold.
-- function budget_alert_recipients(owner_user uuid, owner_team text) returns SETOF text
--   A user budget notifies the user; a team budget notifies active team owners or admins.
-- function budget_alert_threshold_bps() returns integer
--   The threshold is fixed: an alert is due at 20 % remaining, 2000 of 10000. As in domain/budget/budget-alert.ts.
-- function budget_dry_run(scope text, amount_10000 bigint, from_time timestamp with time zone, until_time timestamp with time zone, OUT spent numeric, OUT blocks_from timestamp with time zone, OUT blocked_count bigint, OUT blocked_cost numeric) returns record
--   What a hard budget of an amount would have blocked in a window; changes nothing.
-- function budget_in_force(scope text, owner_user uuid, owner_team text, t timestamp with time zone) returns TABLE(budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamp with time zone, window_end timestamp with time zone, spent numeric, closed boolean)
--   The active budget of a scope, whose owner is a user or else a team: its window at an instant, what is spent in it, and whether a blocked cost has shut it. No row where there is none.
-- function budget_terms_json(budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, timezone text, from_config boolean) returns json
--   A budget as events tell of it.
-- function budget_window_end(cadence text, at timestamp with time zone) returns timestamp with time zone
-- function budget_window_start(cadence text, at timestamp with time zone) returns timestamp with time zone
--   UTC: daily from 00:00:00, weekly from Monday, monthly from the first day.
-- function budgets_in_force(scopes text[], users uuid[], teams text[], t timestamp with time zone) returns TABLE(scope text, budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamp with time zone, window_end timestamp with time zone, spent numeric, closed boolean)
--   The budgets in force of scopes, whose owners are `users` and `teams`.
-- function counted_spend(scope text, from_time timestamp with time zone, until_time timestamp with time zone) returns numeric
--   Counted spend of a window in picodollars.
-- function counts_toward_spend(pricing_status text) returns boolean
--   Whether a ledger row counts toward spend and budget windows; the others are visible in reports.
-- function drop_counted_down_rollups(behind_from timestamp with time zone, behind_until timestamp with time zone) returns void
--   Deletes the rollups of request logs that come to nothing, in a range of buckets.
-- function drop_future_log_months(since timestamp with time zone) returns void
--   Drops the empty partitions of whole months that begin behind a time.
-- function end_left_requests(releases uuid[] DEFAULT NULL::uuid[]) returns void
--   Ends the claims and holds of requests, or of processes that are gone.
-- function end_rate_limit_holds(items settlement_record[], releases uuid[], t timestamp with time zone) returns void
--   Ends what requests hold, and counts their tokens in the minute of their settlement, once: a second try finds no holds.
-- function gateway_admit(scopes json, asks json, claim_seconds integer, process uuid DEFAULT NULL::uuid) returns json
--   Admission with request ids that callers chose: what is accounted already, and who has the claim.
-- function gateway_admit_limited(scopes json, asks json, claim_seconds integer, process uuid, subjects text[], limited json) returns jsonb
--   Admission under rate limits: their invariant is of this function, under the locks of the subjects' windows, taken in sorted order.
-- function gateway_admit_scopes(scopes text[], users uuid[], teams text[]) returns json
--   Admission: reads without a lock, for the limit itself is kept by gateway_settle.
-- function gateway_beat(process uuid, releases uuid[], pages integer) returns void
--   Keeps a process among those that are there, ends what it could not, and probes whether rows can be written.
-- function gateway_detach_log_partitions(cutoff timestamp with time zone, behind uuid, OUT reached uuid) returns uuid
--   Takes out of the request logs the next partitions whose rows are all from before the cutoff.
-- function gateway_drop_log_partitions(cutoff timestamp with time zone) returns integer
--   Drops the partitions of the request logs that are empty and lie before the cutoff.
-- function gateway_keep_bodies(ids uuid[], requests json[], responses json[], requests_truncated boolean[], responses_truncated boolean[]) returns bigint
--   Keeps the payloads of a batch of requests that are logged already: the nth of each array is of the nth request.
-- function gateway_keep_invocations(items json) returns bigint
--   Keeps the records of a batch of MCP tool calls.
-- function gateway_keep_payloads(items json) returns bigint
--   Keeps the payloads of a batch of requests that are logged already.
-- function gateway_link_invocations(items json) returns void
--   Gives records of MCP tool calls the request log that came after them.
-- function gateway_log(items settlement_record[], verdicts text[], t timestamp with time zone) returns void
--   Writes summary rows with their tags and attempts; refused where one is there already.
-- function gateway_log_one(item settlement_record, verdict text, t timestamp with time zone) returns void
--   Writes a summary row with its tags and attempts; refused where it is there already.
-- function gateway_make_daily_log_partitions(since timestamp with time zone, until_time timestamp with time zone) returns integer
--   Makes the partitions of the request logs ahead of time, one for each UTC day.
-- function gateway_make_log_partitions(since timestamp with time zone, until_time timestamp with time zone) returns integer
--   Makes the partitions of the request logs ahead of time, one for each UTC month.
-- function gateway_now() returns timestamp with time zone
--   The one clock of money: read after a scope's lock is held. Tests replace it.
-- function gateway_purge_detached_logs() returns bigint
--   Drops one span of the request logs that was taken out of them, and takes it out of the rollups.
-- function gateway_purge_invocations(cutoff timestamp with time zone, at_most integer) returns bigint
--   Deletes at most so many records of MCP tool calls from before the cutoff.
-- function gateway_purge_request_logs(cutoff timestamp with time zone, since timestamp with time zone, at_most integer, OUT deleted bigint, OUT reached timestamp with time zone) returns record
--   Deletes at most so many request logs before the cutoff, with their children and their part of the rollups.
-- function gateway_set_budget(owner_user uuid, owner_team text, new_cadence text, new_amount_10000 bigint, new_hard_limit boolean, new_timezone text, by_config boolean, mail_ready boolean, actor uuid DEFAULT NULL::uuid, address text DEFAULT NULL::text, token uuid DEFAULT NULL::uuid) returns boolean
--   The only writer of budgets: takes the lock of the hard limit, keeps history and the admin's event, checks the alert.
-- function gateway_settle(records json, releases uuid[], close_on_block boolean, mail_ready boolean, at timestamp with time zone DEFAULT NULL::timestamp with time zone, again boolean DEFAULT false) returns TABLE(ord integer, verdict text, budget_id uuid, cadence text, amount_10000 bigint, window_start timestamp with time zone, window_end timestamp with time zone, database_time timestamp with time zone)
--   Settlement: the hard limit is an invariant of this function.
-- function gateway_touch() returns void
--   Moves the revision on, in the transaction of a change of identity or catalogue: every replica takes it up.
-- function lock_budgets(scopes text[]) returns void
--   Takes the locks of scopes whose budgets change, to the end of the transaction.
-- function lock_log_tables(names text[], tries integer) returns boolean
--   Takes tables of the request logs from everybody; false where they are in use for too long.
-- function lock_scopes(scopes text[]) returns void
--   The lock of the hard limit: held to the end of the transaction by whoever adds counted spend to a scope or changes its budget. Always taken in sorted order, so there is no deadlock.
-- function log_hour(starts timestamp with time zone) returns TABLE(ends json, latencies integer[], latency_counts integer[], first_tokens integer[], first_token_counts integer[])
--   How the requests of an hour ended; latencies and first tokens are of those that ended well.
-- function log_id_floor(at timestamp with time zone) returns uuid
--   The lowest UUIDv7 of a time: where a partition begins that holds what came later.
-- function log_mark(starts timestamp with time zone) returns TABLE(mark text)
--   What tells the logs of an hour from those that were there before: how many, and the sum of how they ended.
-- function log_of_request(request_id text, scope text) returns TABLE(request_log_id uuid)
--   The newest request log of the last day that has this request id and owner; no row where there is none.
-- function log_partitions() returns TABLE(log_table text, part text, from_id uuid, to_id uuid)
--   The partitions of the request logs and the ids that each holds, without the default ones.
-- function long_request_id_sha256(request_id text) returns text
--   SHA-256 in hex of an id of more than 1,024 bytes; null for others, which are looked for as they are and have no entry in the indexes. As request_digest says it, which an index cannot call by a name in here.
-- function make_log_partitions_by(by_day boolean, since timestamp with time zone, until_time timestamp with time zone) returns integer
--   Makes the partitions of the request logs that a time lacks, by months or by days.
-- function newest_of_model(key text, since timestamp with time zone, at_most integer) returns TABLE(requests integer, errors integer)
--   How many requests of a model there were since a quarter of an hour, and how many failed; of the newest alone.
-- function newest_of_provider(key text, since timestamp with time zone, at_most integer) returns TABLE(requests integer, errors integer)
--   How many requests of a provider there were since a quarter of an hour, and how many failed; of the newest alone.
-- function ownership_scope(owner_user uuid, owner_team text) returns text
--   Whose spend it is: a user's, or else a team's.
-- function probe_writing(pages integer) returns void
--   Fails as a settlement would: in a database that only reads, and where the disk has no room for so many pages.
-- function process_is_gone(holder uuid, observer uuid, patience interval DEFAULT '00:00:05'::interval) returns boolean
--   Not seen for so long by one who was there all the time: after an outage of the database nobody is gone before everybody could be seen again.
-- function raise_budget_alert(budget uuid, owner_user uuid, owner_team text, cadence text, amount_10000 bigint, starts timestamp with time zone, ends timestamp with time zone, spent_before numeric, spent_after numeric, t timestamp with time zone, mail_ready boolean) returns void
--   One alert with its queued deliveries; nothing when this window has had its alert.
-- function rate_limit_flights(subjects text[], max_flights bigint[], asked integer, t timestamp with time zone, process uuid) returns bigint[]
--   How many requests of each limited subject are in flight; 0 where nobody asks.
-- function request_digest(request_id text) returns bytea
--   SHA-256 of the id's UTF-8 bytes: unique keys are made on it, so that the length of an id never fails an insert. The cast reads backslashes as escapes, hence the replacing; convert_to would not be immutable.
-- function requests_in(scope text, from_time timestamp with time zone, until_time timestamp with time zone) returns TABLE(request_count numeric)
--   Accounted requests of a scope in a window.
-- function rollup_bucket(at timestamp with time zone) returns timestamp with time zone
--   The 12-hour UTC bucket of an instant; two make a UTC day.
-- function settled_metadata(metadata jsonb, verdict text, blocked_cost_usd text) returns jsonb
--   The metadata of a summary row, which say what became of its request. A blocked cost stays on its row.
-- function window_spend(scope text, from_time timestamp with time zone, until_time timestamp with time zone) returns TABLE(picousd numeric)
--   Counted spend of a window in picodollars, as one row: a sum of at most 31. A statement that has it in its `from` takes it in.
