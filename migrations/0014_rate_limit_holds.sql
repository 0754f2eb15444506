-- Each hold is written into as few indexes as it is looked for by: its request, and its subject. Those of processes that
-- are gone are found among those of a subject, or by going through all of them.
alter table rate_limit_holds drop constraint rate_limit_holds_pkey;
drop index rate_limit_holds_request_log_id_idx;
drop index rate_limit_holds_process_id_idx;
alter table rate_limit_holds add constraint rate_limit_holds_pkey primary key (request_log_id, subject);
create index rate_limit_holds_subject_idx on rate_limit_holds (subject);
