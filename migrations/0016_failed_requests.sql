-- Requests that failed, newest first. Few rows have failed, so other conditions on them are cheap to check. Written as
-- `is true`, no equality of a status implies it: such a list is read by `request_logs_status_code_idx`.
create index request_logs_failed_idx on request_logs (list_bucket, status_code, model_key, provider_key)
  where (status_code >= 400 and status_code <> 499) is true;
