-- A process that was last seen far in the future was seen by a clock that has been set back since.
create or replace function process_is_gone(holder uuid, observer uuid, patience interval default '5 seconds') returns boolean
language sql volatile as $$
  select holder <> observer
    and exists (select from gateway_processes p
                where p.process_id = observer and p.unbroken_since <= clock_timestamp() - patience
                  and p.seen_at between clock_timestamp() - patience and clock_timestamp() + patience)
    and not exists (select from gateway_processes p
                    where p.process_id = holder
                      and p.seen_at between clock_timestamp() - patience and clock_timestamp() + patience)
$$;
comment on function process_is_gone is 'Not seen for so long by one who was there all the time: after an outage of the database nobody is gone before everybody could be seen again.';
