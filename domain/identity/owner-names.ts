/** Characters of the id of a team or service account: a readable name, and a short index key. */
export const maxIdChars = 128;

/** The id of a team or service account; the same in the configuration file and over the API. */
export const idShape = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/;

/** Characters of a name for people. */
export const maxNameChars = 128;

/** Marks that turn the direction of a text are among them: they would turn what stands behind the name, too. */
const controls = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u;

/** What is neither a blank nor a mark that takes no room. */
const seen = /[^\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** A name for people: a line of text that a table can hold, and that is seen, since pages link to what bears it. */
export const isDisplayName = (text: string): boolean =>
  text.length <= maxNameChars && text.isWellFormed() && !controls.test(text) && seen.test(text);

/** What a person may be to a team; owners and admins get its budget alerts. */
export const teamRoles = ['owner', 'admin', 'member'] as const;
export type TeamRole = (typeof teamRoles)[number];

export const userRoles = ['user', 'platform_admin'] as const;
export type UserRole = (typeof userRoles)[number];
