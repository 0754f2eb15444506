-- The kinds of providers are the configuration's: a row comes from a file that its codec has read.

alter table providers drop constraint providers_kind_check;
