// The log of the process would drown the report. Child processes of tests set a level of their own.
process.env.MULTIHUB_LOG_LEVEL ??= 'silent'

export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  testMatch: ['**/*.test.ts'],
  // The tests of proofs/updates have a configuration of their own, because they start dozens of processes.
  testPathIgnorePatterns: ['/node_modules/', '/.local/', '/.servers/', '<rootDir>/proofs/updates/'],
  modulePathIgnorePatterns: ['<rootDir>/.local/', '<rootDir>/.servers/'],
  watchman: false,
  testSequencer: './test/support/slow-tests-first.mjs',
  // A limit for a test that hangs, far above what a slow machine needs.
  testTimeout: 120_000,
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
}
