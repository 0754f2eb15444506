// Writes the tables of docs/fields.md: `npm run fields`.
import { writeFileSync } from 'node:fs';
import { fieldsFile, fieldsPage } from './fields-page.ts';

writeFileSync(fieldsFile, fieldsPage());
