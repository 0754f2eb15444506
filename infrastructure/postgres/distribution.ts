/** How the rows are stored: in one database, or on the nodes of a Citus cluster. */
export type Distribution = 'none' | 'citus';
