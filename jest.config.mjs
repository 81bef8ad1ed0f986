import { testFiles } from './test/projects.ts'

// The log of the process would drown the report. Child processes of tests set a level of their own.
process.env.MULTIHUB_LOG_LEVEL ??= 'silent'

/** What the tests of every project share. */
export const SHARED = {
  rootDir: import.meta.dirname,
  // Test files of one process share the modules of the product.
  runtime: '<rootDir>/test/runner/runtime.mjs',
  testEnvironment: '<rootDir>/test/runner/environment.mjs',
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['<rootDir>/.local/', '<rootDir>/.servers/'],
}

/** What all of Jest's projects share: a limit for a test that hangs, far above what a slow machine needs. */
export const GLOBAL = {
  watchman: false,
  testTimeout: 120_000,
  // Jest keeps the modules of finished files; a collection of garbage in a process that ran a hundred files takes seconds.
  workerIdleMemoryLimit: '500MB',
  // A worker with a large heap takes longer than the usual 500 ms to end on a busy machine. One with something open never ends.
  workerGracefulExitTimeout: 5_000,
}

const files = [...testFiles()]

/** The project with the test files that `test/projects.ts` assigns to it. */
const projectOf = (name, more = {}) => ({
  ...SHARED,
  displayName: name,
  testMatch: files.flatMap(([path, project]) => (project === name ? [`<rootDir>/${path}`] : [])),
  ...more,
})

export default {
  ...GLOBAL,
  testSequencer: './test/support/slow-tests-first.mjs',
  projects: [
    projectOf('unit', { setupFilesAfterEnv: ['<rootDir>/test/support/unit-guard.mjs'] }),
    projectOf('system'),
    projectOf('servers'),
  ],
}
