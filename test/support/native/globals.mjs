// What suites import from '@jest/globals': Jest stores it for each suite before it loads the suite.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globalThis;
