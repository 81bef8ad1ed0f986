import TestSequencer from '@jest/test-sequencer'

/** The folders whose tests take longest, because they start processes and wait for them; longest first. */
const SLOW_FOLDERS = ['/test/e2e/', '/test/integration/']

/** The place of a test file by its folder: slow folders come first. */
function rankOf(path) {
  const found = SLOW_FOLDERS.findIndex((folder) => path.includes(folder))
  return found < 0 ? SLOW_FOLDERS.length : found
}

/**
 * The order in which Jest starts test files. A fresh clone has no times of an earlier run, and Jest then takes the size of
 * a file for its time. A slow test would begin last, and one processor would wait for it alone.
 */
export default class SlowTestsFirst extends TestSequencer {
  /** Sorts by folder, and within a folder as Jest does. */
  sort(tests) {
    return super.sort(tests).sort((one, other) => rankOf(one.path) - rankOf(other.path))
  }
}
