import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose_gc')

/** Collects all garbage of this process, for tests that measure memory. */
export const collectGarbage: () => void = runInNewContext('gc')
