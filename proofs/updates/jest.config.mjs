import base from '../../jest.config.mjs'

/** Runs the tests of this folder, which `npm test` leaves out because they start dozens of processes. */
export default {
  ...base,
  rootDir: '../..',
  testMatch: ['<rootDir>/proofs/updates/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
}
