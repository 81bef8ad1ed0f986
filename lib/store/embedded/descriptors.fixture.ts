import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { openEnvironment } from './environment.ts'

/**
 * Opens an environment while each file of LMDB in turn cannot be opened a second time, as when the process has no descriptor
 * left. (LMDB itself would end the process then.) Prints how many descriptors each open leaves. The argument is the directory.
 */
const [, , directory = ''] = process.argv
const TIMEOUT_MS = 60_000
const { openSync } = fs

let missing = 'none'
fs.openSync = (path, ...more) => {
  if (String(path).endsWith(missing)) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
  return openSync(path, ...more)
}
syncBuiltinESMExports()

const open_files = (): number => fs.readdirSync('/dev/fd').length

// Loads what stays loaded.
await (await openEnvironment(directory, TIMEOUT_MS)).release()
const at_first = open_files()
const left: unknown[] = []
for (missing of ['data.mdb', 'lock.mdb', 'none']) {
  const environment = await openEnvironment(directory, TIMEOUT_MS).catch(() => undefined)
  await environment?.release()
  left.push([missing, environment !== undefined, open_files() - at_first])
}
process.stdout.write(JSON.stringify(left))
