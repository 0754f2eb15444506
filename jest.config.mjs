export default {
  // Suites run in Node itself, not in contexts of `node:vm`, where each one would load the product anew.
  runtime: '<rootDir>/test/support/native/runtime.ts',
  testEnvironment: '<rootDir>/test/support/native/environment.ts',
  transform: {},
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  reporters: ['default', '<rootDir>/test/support/strict-reporter.mjs'],
  testSequencer: '<rootDir>/test/support/long-suites-first.mjs',
  testTimeout: 180_000,
  // Suites wait for sockets and the database more than they compute.
  maxWorkers: 4,
  // Suites leave their modules behind in a worker; one that has grown is replaced between two suites.
  workerIdleMemoryLimit: '800MB',
};
