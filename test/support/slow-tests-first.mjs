import TestSequencer from '@jest/test-sequencer'

/** The folders whose tests take longest, because they start processes and wait for them; longest first. */
const SLOW_FOLDERS = [
  '/test/e2e/',
  '/test/clients/',
  '/proofs/',
  '/deploy/image/',
  '/services/notifier/',
  '/test/integration/',
]

/**
 * The place of a test file: unit tests before all others, because a connection that a system test leaves open would count
 * as theirs in the same process; then slow folders.
 */
function rankOf({ path, context }) {
  if (context.config.displayName?.name === 'unit') return -1
  const found = SLOW_FOLDERS.findIndex((folder) => path.includes(folder))
  return found < 0 ? SLOW_FOLDERS.length : found
}

/**
 * The order in which Jest starts test files. A fresh clone has no times of an earlier run, and Jest then takes the size of
 * a file for its time. A slow test would begin last, and one processor would wait for it alone.
 */
export default class SlowTestsFirst extends TestSequencer {
  /** Sorts by rank, and files of one rank as Jest does. */
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
