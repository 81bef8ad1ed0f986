import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads demo.json, which `npm start` writes. Ends the program with a sentence when the file is not there. */
export function readDemo() {
  const path = join(process.env.MULTIHUB_HOME ?? '.local', 'demo.json')
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    fail(`${path} cannot be read: run "npm start" first and wait for its line "ready"`)
  }
}

/** Ends the program with one sentence. */
export function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
