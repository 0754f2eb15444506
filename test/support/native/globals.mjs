// What suites import from '@jest/globals': jest lays it down for each suite before it loads the suite.
export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest, test } = globalThis;
