import { GLOBAL, SHARED } from '../../jest.config.mjs'

// The workers of "npm test", which CI runs at the same time, have the ranges 1 to 8.
process.env.TEST_PORT_RANGE = '9'

/** Runs the tests of this folder, which `npm test` leaves out because they start dozens of processes. */
export default {
  ...SHARED,
  ...GLOBAL,
  testMatch: ['<rootDir>/proofs/updates/*.test.ts'],
  maxWorkers: 1,
}
