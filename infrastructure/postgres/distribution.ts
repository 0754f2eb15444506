/** How the rows lie: in one database, or on the nodes of a Citus cluster. */
export type Distribution = 'none' | 'citus';
