import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Reads what `npm start` wrote about its demonstration; a program that runs before it ends with a sentence. */
export function readDemo() {
  const path = join(process.env.MULTIHUB_HOME ?? '.local', 'demo.json')
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    fail(`${path} cannot be read: run "npm start" first, and wait for its line "ready".`)
  }
}

/** Ends the program with one sentence. */
export function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}
